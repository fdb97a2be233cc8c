#include "host/guest/output_follower.hpp"

#include "host/guest/report_check.hpp"
#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/operations.hpp"

#include <algorithm>

namespace host::guest {

using protocol::Channel;
using protocol::Kind;

namespace {

bool is_output(Channel channel) {
    return channel == Channel::output || channel == Channel::error;
}

// A command that has printed this much has run for centuries; offsets beyond are lies and could
// wrap.
constexpr std::uint64_t largest_offset = std::uint64_t{1} << 62;

// Credit bounds the bytes that are held; these bound what holds them.
constexpr std::size_t queued_chunks = 4'096;
constexpr std::size_t ordered_chunks = 64;

}  // namespace

OutputFollower::OutputFollower(boost::asio::any_io_executor executor,
                               protocol::CommandFollow request, std::uint32_t window)
    : changed_(std::move(executor)), request_(std::move(request)), window_(window) {
    request_.window = window;
}

sandbox::Async<std::optional<sandbox::Follower::Chunk>> OutputFollower::read() {
    const auto self = shared_from_this();  // the consumer may let go while this waits
    while (queue_.empty()) {
        if (broken_) {
            const Failure why = *std::exchange(broken_, std::nullopt);
            co_return protocol::fail(why);
        }
        if (over_) co_return std::optional<Chunk>();
        const bool go_on = co_await changed_.wait();
        if (!go_on) co_return protocol::fail(Kind::unavailable, "reading was cancelled");
    }
    Queued next = std::move(queue_.front());
    queue_.pop_front();
    const bool was_willing = wants_stream();
    queued_bytes_ -= next.chunk.bytes.size();
    if (next.epoch == epoch_) port.consumed(next.chunk.channel, next.chunk.bytes.size());
    if (!was_willing && wants_stream() && willing) willing();
    co_return std::optional<Chunk>(std::move(next.chunk));
}

void OutputFollower::close() {
    if (!over_ && !broken_) broken_ = Failure(Kind::unavailable, "the follower was closed");
    over_ = true;
    if (const auto drop = std::exchange(dropped, nullptr)) drop();
    willing = nullptr;
    changed_.notify();
}

std::string OutputFollower::request() {
    return protocol::encode_request(protocol::operation::command_follow, request_);
}

bool OutputFollower::wants_stream() const {
    return !over_ && queued_bytes_ <= window_;
}

void OutputFollower::on_opened(StreamPort opened) {
    port = std::move(opened);
    for (const Channel channel : {Channel::output, Channel::error}) port.widen(channel, window_);
    ++epoch_;
}

std::uint64_t& OutputFollower::offset(Channel channel) {
    return channel == Channel::output ? request_.output_from : request_.error_from;
}

Result<void> OutputFollower::push(Chunk chunk) {
    if (queue_.size() >= queued_chunks) return violation("output in too many pieces");
    queued_bytes_ += chunk.bytes.size();
    queue_.push_back({std::move(chunk), epoch_});
    changed_.notify();
    return {};
}

// A queued chunk that more of the same may be added to, so that tiny frames do not cost a chunk
// each. Over a short queue the order between the two channels is kept; over a long one it gives
// way.
sandbox::Follower::Chunk* OutputFollower::extendable(Chunk::What what, Channel channel) {
    const std::size_t depth =
        std::min<std::size_t>(queue_.size(), queue_.size() < ordered_chunks ? 1 : 2);
    for (std::size_t back = 1; back <= depth; ++back) {
        Queued& entry = queue_[queue_.size() - back];
        const bool mergeable =
            entry.chunk.what == Chunk::What::bytes || entry.chunk.what == Chunk::What::gap;
        if (!mergeable || entry.epoch != epoch_) return nullptr;
        if (entry.chunk.channel == channel)
            return entry.chunk.what == what ? &entry.chunk : nullptr;
    }
    return nullptr;
}

Result<void> OutputFollower::on_data(Channel channel, std::string bytes, bool last) {
    if (!is_output(channel)) return violation("output on a channel that a follower does not have");
    bool& ended = channel_ended_[static_cast<std::size_t>(channel)];
    if (ended && !bytes.empty()) return violation("output after its end");
    std::uint64_t& at = offset(channel);
    if (at > largest_offset) return violation("output beyond every length");
    Chunk* const tail = extendable(Chunk::What::bytes, channel);
    const std::uint64_t from = std::exchange(at, at + bytes.size());
    if (tail != nullptr &&
        tail->bytes.size() + bytes.size() <= protocol::limits::data_payload_bytes) {
        tail->bytes += bytes;
        queued_bytes_ += bytes.size();
        changed_.notify();
    } else if (!bytes.empty()) {
        Chunk chunk;
        chunk.what = Chunk::What::bytes;
        chunk.channel = channel;
        chunk.offset = from;
        chunk.bytes = std::move(bytes);
        TRY_VOID(push(std::move(chunk)));
    }
    // The end of a channel is said again on every connection.
    if (!last || std::exchange(ended, true)) return {};
    Chunk chunk;
    chunk.what = Chunk::What::end_of_channel;
    chunk.channel = channel;
    chunk.offset = at;
    return push(std::move(chunk));
}

Result<void> OutputFollower::on_event(std::string_view name, const boost::json::value& payload) {
    if (name == protocol::event::exited) {
        // Said again on every connection.
        if (std::exchange(exited_, true)) return {};
        Chunk chunk;
        chunk.what = Chunk::What::exited;
        return push(std::move(chunk));
    }
    if (name != protocol::event::gap) return Operation::on_event(name, payload);
    TRY(const auto gap, protocol::from_json<protocol::OutputGap>(payload));
    const auto channel = static_cast<Channel>(gap.channel);
    if (!is_output(channel) || gap.from != offset(channel) || gap.to <= gap.from ||
        gap.to > largest_offset) {
        return violation("a gap that does not follow what was sent");
    }
    offset(channel) = gap.to;
    if (Chunk* const tail = extendable(Chunk::What::gap, channel)) {
        tail->gap_end = gap.to;
        return {};
    }
    Chunk chunk;
    chunk.what = Chunk::What::gap;
    chunk.channel = channel;
    chunk.offset = gap.from;
    chunk.gap_end = gap.to;
    return push(std::move(chunk));
}

void OutputFollower::on_disconnected() {
    port = StreamPort();
    ++epoch_;
}

Result<void> OutputFollower::on_end(Result<boost::json::value> answer) {
    if (!answer && !over_) broken_ = std::move(answer).error();
    over_ = true;
    changed_.notify();
    return {};
}

void OutputFollower::on_abandoned(const Failure& why) {
    if (!over_) broken_ = why;
    over_ = true;
    changed_.notify();
}

}  // namespace host::guest
