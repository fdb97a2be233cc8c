#include "host/guest/tunnel.hpp"

#include "host/guest/report_check.hpp"
#include "protocol/wire/json_codec.hpp"

namespace host::guest {

using protocol::Channel;
using protocol::Kind;

std::shared_ptr<sandbox::TunnelStream> TunnelEnd::handle(const std::shared_ptr<TunnelEnd>& end) {
    return {end.get(), [end](sandbox::TunnelStream*) { end->close(); }};
}

sandbox::Async<std::string> TunnelEnd::read() {
    const auto self = shared_from_this();  // the consumer may let go while this waits
    while (received_.empty()) {
        if (broken_) co_return protocol::fail(*broken_);
        if (received_all_) co_return std::string();
        const bool go_on = co_await changed_.wait();
        if (!go_on) co_return protocol::fail(Kind::unavailable, "reading was cancelled");
    }
    std::string bytes = std::move(received_.front());
    received_.pop_front();
    port_.consumed(Channel::input, bytes.size());
    finish_if_over();
    co_return bytes;
}

sandbox::Async<void> TunnelEnd::write(std::string bytes) {
    const auto self = shared_from_this();  // the consumer may let go while this waits
    if (shutdown_asked_) co_return protocol::fail(Kind::conflict, "written after shutdown");
    outgoing_ += bytes;
    push();
    while (!outgoing_.empty()) {
        if (broken_) co_return protocol::fail(*broken_);
        const bool go_on = co_await changed_.wait();
        if (!go_on) co_return protocol::fail(Kind::unavailable, "writing was cancelled");
    }
    if (broken_) co_return protocol::fail(*broken_);
    co_return Result<void>();
}

void TunnelEnd::shutdown_write() {
    shutdown_asked_ = true;
    push();
}

void TunnelEnd::close() {
    if (!broken_) broken_ = Failure(Kind::unavailable, "the tunnel was closed");
    finish(protocol::encode_end(protocol::Done()));
}

void TunnelEnd::push() {
    if (finished_ || shutdown_sent_) return;
    const std::string_view rest = std::string_view(outgoing_).substr(outgoing_sent_);
    if (rest.empty() && !shutdown_asked_) return;
    const std::size_t taken = port_.send_data(Channel::output, rest, shutdown_asked_);
    if (taken < rest.size()) {
        outgoing_sent_ += taken;
        return;
    }
    outgoing_.clear();
    outgoing_sent_ = 0;
    shutdown_sent_ = shutdown_asked_;
    changed_.notify();
    finish_if_over();
}

void TunnelEnd::finish_if_over() {
    if (received_all_ && received_.empty() && shutdown_sent_)
        finish(protocol::encode_end(protocol::Done()));
}

void TunnelEnd::finish(std::string payload) {
    if (!std::exchange(finished_, true)) port_.end(std::move(payload));
    if (broken_) {
        received_.clear();
        outgoing_.clear();
    }
    changed_.notify();
}

Result<void> TunnelEnd::on_data(Channel channel, std::string bytes, bool last) {
    if (channel != Channel::input) {
        return violation("tunnel data on a channel that it does not have");
    }
    if (received_.empty() ||
        received_.back().size() + bytes.size() > protocol::limits::data_payload_bytes) {
        if (!bytes.empty()) received_.push_back(std::move(bytes));
    } else {
        // Tiny frames must not cost a string each.
        received_.back() += bytes;
    }
    received_all_ = received_all_ || last;
    changed_.notify();
    finish_if_over();
    return {};
}

void TunnelEnd::on_writable(Channel) {
    push();
}

void TunnelEnd::on_reset() {
    if (!broken_) broken_ = Failure(Kind::unavailable, "the guest closed the connection");
    finish(protocol::encode_end(protocol::Done()));
}

void TunnelEnd::on_disconnected() {
    finished_ = true;
    if (!broken_) broken_ = Failure(Kind::unavailable, "the link to the guest was lost");
    received_.clear();
    outgoing_.clear();
    changed_.notify();
}

}  // namespace host::guest
