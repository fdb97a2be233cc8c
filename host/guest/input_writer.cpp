#include "host/guest/input_writer.hpp"

#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/operations.hpp"

#include <algorithm>
#include <utility>

namespace host::guest {

using protocol::Channel;
using protocol::Kind;

namespace {

Failure input_closed() {
    return Failure::with_code(Kind::conflict, "input-closed",
                              "the command no longer reads its input");
}

}  // namespace

sandbox::Async<void> InputWriter::write(std::uint64_t at, std::string bytes) {
    const auto self = shared_from_this();  // the client may let go while this waits
    if (broken_) co_return protocol::fail(*broken_);
    if (over_) co_return protocol::fail(input_closed());
    if (at > end()) {
        co_return protocol::fail(
            Failure::with_code(Kind::conflict, "input-gap",
                               "input is missing before offset " + std::to_string(at) +
                                   "; it was given up to " + std::to_string(end())));
    }
    const std::uint64_t known = std::min<std::uint64_t>(bytes.size(), end() - at);
    if (known < bytes.size() && end_asked_) {
        co_return protocol::fail(Kind::conflict, "written after the end of the input");
    }
    held_.append(bytes, known);
    const std::uint64_t wanted = at + bytes.size();
    push();
    while (furthest_ < wanted) {
        if (broken_) co_return protocol::fail(*broken_);
        if (over_) co_return protocol::fail(input_closed());
        const bool go_on = co_await changed_.wait();
        if (!go_on) co_return protocol::fail(Kind::unavailable, "writing was cancelled");
    }
    co_return Result<void>();
}

sandbox::Async<void> InputWriter::close() {
    const auto self = shared_from_this();  // the client may let go while this waits
    end_asked_ = true;
    push();
    while (!end_sent_ && !over_) {
        const bool go_on = co_await changed_.wait();
        if (!go_on) co_return protocol::fail(Kind::unavailable, "closing was cancelled");
    }
    if (broken_) co_return protocol::fail(*broken_);
    co_return Result<void>();
}

void InputWriter::finish() {
    over_ = true;
    held_.clear();
    changed_.notify();
    if (const auto tell = std::exchange(finished, nullptr)) tell();
}

std::string InputWriter::request() {
    request_.from = held_from_;
    return protocol::encode_request(protocol::operation::command_input, request_);
}

void InputWriter::on_opened(StreamPort opened) {
    port = std::move(opened);
    sent_ = held_from_;
    end_sent_ = false;
    push();
}

void InputWriter::push() {
    if (over_ || end_sent_ || !port.open()) return;
    const std::string_view rest = std::string_view(held_).substr(sent_ - held_from_);
    if (rest.empty() && !end_asked_) return;
    const std::size_t taken = port.send_data(Channel::input, rest, end_asked_);
    sent_ += taken;
    end_sent_ = end_asked_ && taken == rest.size();
    if (sent_ > furthest_ || end_sent_) {
        furthest_ = std::max(furthest_, sent_);
        trim();
        changed_.notify();
    }
}

void InputWriter::trim() {
    const std::uint64_t kept = furthest_ - held_from_;
    // In steps, so that small writes do not move the whole window each time.
    if (kept < protocol::limits::window_bytes + protocol::limits::credit_step_bytes) return;
    const std::uint64_t surplus = kept - protocol::limits::window_bytes;
    held_.erase(0, surplus);
    held_from_ += surplus;
}

Result<void> InputWriter::on_event(std::string_view name, const boost::json::value& payload) {
    if (name != protocol::event::taken) return Operation::on_event(name, payload);
    // Only its form matters here: what may still be needed is decided by credit.
    TRY(const auto taken, protocol::from_json<protocol::InputTaken>(payload));
    static_cast<void>(taken);
    return {};
}

Result<void> InputWriter::on_end(Result<boost::json::value> answer) {
    if (!answer) broken_ = std::move(answer).error();
    finish();
    return {};
}

void InputWriter::on_abandoned(const Failure& why) {
    if (!over_) broken_ = why;
    finish();
}

sandbox::Async<void> InputPiece::write(std::string bytes) {
    const std::uint64_t at = at_;
    at_ += bytes.size();
    auto writing = writer_->write(at, std::move(bytes));
    co_return co_await std::move(writing);
}

sandbox::Async<void> InputPiece::close() {
    return writer_->close();
}

}  // namespace host::guest
