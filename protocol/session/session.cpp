#include "protocol/session/session.hpp"

#include "protocol/wire/json_codec.hpp"

#include <algorithm>
#include <cassert>
#include <type_traits>
#include <utility>

namespace protocol {
namespace {

std::size_t index_of(Channel channel) {
    assert(channel != Channel::control);
    return static_cast<std::size_t>(channel) - 1;
}

std::size_t event_bytes(const SessionEvent& event) {
    return std::visit(
        [](const auto& each) -> std::size_t {
            using T = std::decay_t<decltype(each)>;
            if constexpr (std::is_same_v<T, PeerReady>) return each.hello.size();
            if constexpr (std::is_same_v<T, StreamOpened>) return each.request.size();
            if constexpr (std::is_same_v<T, StreamEvent>) return each.payload.size();
            if constexpr (std::is_same_v<T, StreamData>) return each.bytes.size();
            if constexpr (std::is_same_v<T, StreamEnded>) return each.payload.size();
            if constexpr (std::is_same_v<T, PeerBye>) return each.reason.size();
            return 0;
        },
        event);
}

std::string encode_bye(std::string_view reason) {
    boost::json::object object;
    object.emplace("reason", codec::json_text(reason.substr(0, 1000)));
    return boost::json::serialize(object);
}

}  // namespace

Session::Session(Role role, std::string hello, Nonce nonce, TimePoint now)
    : role_(role),
      hello_(std::move(hello)),
      seeker_(role == Role::host ? std::optional(nonce) : std::nullopt),
      last_heard_(now),
      last_ping_(now),
      last_tick_(now) {
    assert(hello_.size() <= limits::control_payload_bytes);
    if (role == Role::host) {
        queue_.begin_with(encode_preamble(nonce));
        push_control(FrameKind::hello, StreamId::connection, hello_);
    }
}

std::string_view Session::output() {
    return queue_.output();
}

void Session::written(std::size_t bytes) {
    queue_.written(bytes);
    wake_waiters();
}

std::optional<SessionEvent> Session::next_event() {
    if (events_.empty()) return std::nullopt;
    std::optional<SessionEvent> event(std::move(events_.front()));
    events_.pop_front();
    return event;
}

Result<void> Session::tick(TimePoint now) {
    if (failure_) return fail(*failure_);
    const auto since = [now](TimePoint earlier) {
        return std::min<TimePoint::duration>(now - earlier, limits::longest_tick);
    };
    unanswered_ += since(last_tick_);
    silent_ = last_heard_ < last_tick_ ? silent_ + since(last_tick_) : since(last_heard_);
    last_tick_ = now;
    if (!ready_) {
        // A guest may wait for its host for ever.
        if (role_ == Role::host && unanswered_ >= limits::handshake) {
            return fail_with(Failure(Kind::timed_out, "the guest has not answered the handshake"));
        }
        return {};
    }
    if (silent_ >= limits::silence) {
        return fail_with(Failure(Kind::timed_out, "the peer has been silent for too long"));
    }
    if (now - std::max(last_heard_, last_ping_) >= limits::ping_idle) {
        last_ping_ = now;
        ++pings_;
        std::string payload(8, '\0');
        for (std::size_t at = 0; at < payload.size(); ++at) {
            payload[at] = static_cast<char>((pings_ >> (8 * (7 - at))) & 0xFF);
        }
        push_control(FrameKind::ping, StreamId::connection, std::move(payload));
    }
    if (failure_) return fail(*failure_);
    return {};
}

// ---- streams ------------------------------------------------------------------------------------

Result<StreamId> Session::open(std::string request) {
    if (failure_ || !ready_ || said_bye_ || heard_bye_) {
        return fail(Kind::unavailable, "the host link is not ready for new streams");
    }
    if (request.size() > limits::control_payload_bytes) {
        return fail(Kind::too_large, "a request of " + std::to_string(request.size()) + " bytes");
    }
    const std::uint32_t limit = role_ == Role::host ? limits::host_streams : limits::guest_streams;
    if (opened_here_ >= limit) {
        return fail(Kind::resource_exhausted,
                    "all " + std::to_string(limit) + " streams of the host link are in use");
    }
    const std::uint32_t first = opens_even() ? 2 : 1;
    if (last_own_ > UINT32_MAX - 2) {
        return fail(Kind::resource_exhausted, "this connection has used up its stream ids");
    }
    last_own_ = last_own_ == 0 ? first : last_own_ + 2;
    const StreamId id{last_own_};
    streams_[id].opened_here = true;
    ++opened_here_;
    push_control(FrameKind::open, id, std::move(request));
    return id;
}

bool Session::send_event(StreamId stream, std::string payload) {
    if (failure_ || !ready_ || payload.size() > limits::control_payload_bytes) return false;
    if (stream != StreamId::connection) {
        const Stream* found = find(stream);
        if (found == nullptr || found->was_reset) return false;
    }
    push_control(FrameKind::event, stream, std::move(payload));
    return true;
}

std::size_t Session::room(const Lane& lane) const {
    const std::size_t queued = queue_.data_bytes();
    const std::size_t free =
        limits::data_queue_bytes > queued ? limits::data_queue_bytes - queued : 0;
    return std::min<std::size_t>(lane.credit, free);
}

std::size_t Session::sendable(StreamId stream, Channel channel) const {
    const auto found = streams_.find(stream);
    if (failure_ || found == streams_.end() || found->second.was_reset) return 0;
    const Lane& lane = found->second.out[index_of(channel)];
    return lane.half_closed ? 0 : room(lane);
}

std::size_t Session::send_data(StreamId stream, Channel channel, std::string_view bytes,
                               bool last) {
    Stream* found = find(stream);
    if (failure_ || found == nullptr || found->was_reset) return 0;
    Lane& lane = found->out[index_of(channel)];
    if (lane.half_closed) return 0;
    const std::size_t taken = std::min(bytes.size(), room(lane));
    const bool all = taken == bytes.size();
    const bool closes = last && all;
    lane.credit -= static_cast<std::uint32_t>(taken);
    lane.half_closed = closes;
    if (taken > 0 || closes) queue_.push_data(stream, channel, bytes.substr(0, taken), closes);
    if (!all) await(lane, stream, channel);
    return taken;
}

void Session::await(Lane& lane, StreamId stream, Channel channel) {
    if (std::exchange(lane.waiting, true)) return;
    waiters_.emplace_back(stream, channel);
}

void Session::await_credit(StreamId stream, Channel channel) {
    Stream* found = find(stream);
    if (failure_ || found == nullptr || found->was_reset) return;
    await(found->out[index_of(channel)], stream, channel);
}

void Session::widen(StreamId stream, Channel channel, std::uint32_t bytes) {
    assert(bytes >= limits::window_bytes && bytes <= limits::follow_window_bytes);
    Stream* found = find(stream);
    if (failure_ || found == nullptr) return;
    // Streams have one sender of output: the guest.
    Lane& lane = (role_ == Role::guest ? found->out : found->in)[index_of(channel)];
    assert(lane.credit == lane.window && lane.taken == 0);
    lane.window = bytes;
    lane.credit = bytes;
}

void Session::moved(StreamId stream, Channel channel, std::size_t bytes, std::string rest) {
    Stream* found = find(stream);
    assert(found != nullptr);
    Lane& lane = found->out[index_of(channel)];
    assert(bytes <= lane.credit && !lane.half_closed);
    lane.credit -= static_cast<std::uint32_t>(bytes);
    if (!rest.empty()) queue_.begin_with_rest(std::move(rest));
}

// In the order in which they came short, and only as many as there is room for: woken all together,
// the first ones would take the room each time.
void Session::wake_waiters() {
    if (waiters_.empty() || failure_) return;
    const std::size_t queued = queue_.data_bytes();
    std::size_t turns = queued == 0 ? waiters_.size()
                        : queued < limits::data_queue_bytes
                            ? (limits::data_queue_bytes - queued) / limits::data_payload_bytes
                            : 0;
    std::erase_if(waiters_, [&](const auto& waiter) {
        const auto [id, channel] = waiter;
        Stream* stream = find(id);
        if (stream == nullptr || stream->was_reset) return true;
        Lane& lane = stream->out[index_of(channel)];
        if (turns == 0 || lane.credit == 0) return false;
        --turns;
        lane.waiting = false;
        events_.push_back(StreamWritable{id, channel});
        return true;
    });
}

void Session::consumed(StreamId stream, Channel channel, std::size_t bytes) {
    Stream* found = find(stream);
    if (failure_ || found == nullptr || found->was_reset) return;
    Lane& lane = found->in[index_of(channel)];
    const std::size_t received = lane.window - lane.credit - lane.taken;
    lane.taken += static_cast<std::uint32_t>(std::min(bytes, received));
    if (lane.half_closed || lane.taken < lane.window / limits::credit_steps) return;
    Frame frame;
    frame.kind = FrameKind::credit;
    frame.stream = stream;
    frame.channel = channel;
    frame.payload = encode_u32(lane.taken);
    lane.credit += std::exchange(lane.taken, 0);
    queue_.push_control(frame);
    check_control_queue();
}

void Session::end(StreamId stream, std::string payload) {
    Stream* found = find(stream);
    if (failure_ || found == nullptr || found->opened_here) return;
    if (payload.size() > limits::control_payload_bytes) {
        payload = encode_end_failure(
            Failure(Kind::too_large, "an answer of " + std::to_string(payload.size()) + " bytes"));
    }
    erase(stream);
    push_control(FrameKind::end, stream, std::move(payload));
}

void Session::reset(StreamId stream) {
    Stream* found = find(stream);
    if (failure_ || found == nullptr || !found->opened_here || found->was_reset) return;
    found->was_reset = true;
    queue_.abandon(stream);
    push_control(FrameKind::reset, stream, {});
}

void Session::bye(std::string reason) {
    if (failure_ || said_bye_ || phase_ == Phase::seeking) return;
    said_bye_ = true;
    push_control(FrameKind::bye, StreamId::connection, encode_bye(reason));
}

std::size_t Session::queued_bytes() const {
    std::size_t bytes = queue_.held_bytes() + decoder_.held_bytes() + seeker_.held_bytes();
    for (const SessionEvent& event : events_) bytes += event_bytes(event);
    return bytes;
}

// ---- shared with session_input.cpp --------------------------------------------------------------

bool Session::is_own(StreamId stream) const {
    return (static_cast<std::uint32_t>(stream) % 2 == 0) == opens_even();
}

Session::Stream* Session::find(StreamId stream) {
    const auto found = streams_.find(stream);
    return found == streams_.end() ? nullptr : &found->second;
}

void Session::erase(StreamId stream) {
    const auto found = streams_.find(stream);
    --(found->second.opened_here ? opened_here_ : opened_by_peer_);
    streams_.erase(found);
}

void Session::push_control(FrameKind kind, StreamId stream, std::string payload) {
    Frame frame;
    frame.kind = kind;
    frame.stream = stream;
    frame.payload = std::move(payload);
    queue_.push_in_stream(frame);
    check_control_queue();
}

void Session::check_control_queue() {
    if (!failure_ && queue_.control_bytes() > limits::control_queue_bytes) {
        (void)fail_with(Failure(Kind::unavailable, "the peer does not read the host link"));
    }
}

void Session::drop_streams() {
    streams_.clear();
    opened_here_ = opened_by_peer_ = 0;
    last_own_ = last_peer_ = 0;
    waiters_.clear();
    events_.clear();
}

Result<void> Session::fail_with(Failure failure) {
    failure_ = std::move(failure);
    ready_ = false;
    Frame frame;
    frame.kind = FrameKind::bye;
    frame.payload = encode_bye(failure_->message());
    // Before a preamble the guest may not send anything.
    if (phase_ == Phase::seeking && role_ == Role::guest) return fail(*failure_);
    queue_.finish_with(frame);
    return fail(*failure_);
}

}  // namespace protocol
