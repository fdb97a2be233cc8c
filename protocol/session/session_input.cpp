// The half of Session that judges what the peer sends. docs/protocol.md, "What is a violation".

#include "protocol/session/session.hpp"
#include "protocol/wire/json_codec.hpp"

#include <utility>

namespace protocol {
namespace {

tl::unexpected<Failure> violation(std::string what) {
    return fail(Kind::protocol_violation, std::move(what));
}

std::string name_of(StreamId stream) {
    return "stream " + std::to_string(static_cast<std::uint32_t>(stream));
}

bool carries_json(FrameKind kind) {
    switch (kind) {
        case FrameKind::hello:
        case FrameKind::open:
        case FrameKind::event:
        case FrameKind::end:
        case FrameKind::bye:
            return true;
        case FrameKind::data:
        case FrameKind::credit:
        case FrameKind::reset:
        case FrameKind::ping:
        case FrameKind::pong:
            return false;
    }
    return false;
}

Result<boost::json::value> parse_object(std::string_view payload) {
    auto value = parse_json(payload);
    if (!value) return violation("control payload: " + value.error().message());
    if (!value->is_object()) return violation("control payload is not a JSON object");
    return value;
}

}  // namespace

Result<void> Session::feed(std::string_view bytes, TimePoint now) {
    if (failure_) return fail(*failure_);
    last_heard_ = now;
    if (phase_ == Phase::seeking) {
        seeker_.feed(bytes);
        seek();
    } else {
        decoder_.feed(bytes);
    }
    while (phase_ != Phase::seeking && !failure_) {
        // A frame's first byte is 0 and a preamble's is not: a host has come back on the same
        // bytes.
        const std::string_view rest = decoder_.rest();
        if (role_ == Role::guest && !rest.empty() &&
            static_cast<unsigned char>(rest.front()) == preamble_magic[0]) {
            PreambleSeeker restart;
            restart.feed(rest);
            if (!restart.starts_like_preamble()) {
                return fail_with(Failure(Kind::protocol_violation, "neither frame nor preamble"));
            }
            const std::optional<Nonce> nonce = restart.find();
            if (!nonce) break;
            seeker_ = std::move(restart);
            begin_connection(*nonce);
            continue;
        }
        auto frame = decoder_.next();
        if (!frame) return fail_with(std::move(frame).error());
        if (!*frame) break;
        if (auto handled = handle(std::move(**frame)); !handled) {
            return fail_with(std::move(handled).error());
        }
    }
    if (failure_) return fail(*failure_);  // an answer has overfilled the control queue
    return {};
}

void Session::interrupted() {
    if (role_ == Role::host) return;
    drop_streams();
    decoder_.clear();
    queue_ = SendQueue();
    seeker_ = PreambleSeeker();
    phase_ = Phase::seeking;
    ready_ = false;
}

void Session::seek() {
    if (const std::optional<Nonce> nonce = seeker_.find()) begin_connection(*nonce);
}

// The preamble has been read. What an earlier connection left is gone, in both directions.
void Session::begin_connection(const Nonce& nonce) {
    drop_streams();
    ready_ = false;
    said_bye_ = false;
    heard_bye_ = false;
    decoder_.clear();
    decoder_.feed(seeker_.take_rest());
    phase_ = Phase::greeting;
    if (role_ == Role::host) return;
    queue_.begin_with(encode_preamble(nonce));
    push_control(FrameKind::hello, StreamId::connection, hello_);
}

Result<void> Session::handle(Frame frame) {
    if ((phase_ == Phase::greeting) != (frame.kind == FrameKind::hello)) {
        return violation(phase_ == Phase::greeting ? "the first frame is not hello"
                                                   : "a second hello");
    }
    boost::json::value control;
    if (carries_json(frame.kind)) {
        TRY(control, parse_object(frame.payload));
    }
    switch (frame.kind) {
        case FrameKind::hello:
            phase_ = Phase::open;
            ready_ = true;
            events_.push_back(PeerReady{std::move(frame.payload)});
            return {};
        case FrameKind::ping:
            push_control(FrameKind::pong, StreamId::connection, std::move(frame.payload));
            return {};
        case FrameKind::pong:
            return {};  // has been heard, which is all it is for
        case FrameKind::bye: {
            heard_bye_ = true;
            const boost::json::value* reason = control.as_object().if_contains("reason");
            const bool is_text = reason != nullptr && reason->is_string();
            events_.push_back(
                PeerBye{is_text ? std::string(std::string_view(reason->get_string())) : ""});
            return {};
        }
        case FrameKind::open:
            return handle_open(std::move(frame));
        case FrameKind::event:
            if (frame.stream == StreamId::connection) {
                events_.push_back(StreamEvent{frame.stream, std::move(frame.payload)});
                return {};
            }
            return handle_in_stream(std::move(frame));
        case FrameKind::data:
        case FrameKind::credit:
        case FrameKind::end:
        case FrameKind::reset:
            return handle_in_stream(std::move(frame));
    }
    return {};
}

Result<void> Session::handle_open(Frame frame) {
    const auto id = static_cast<std::uint32_t>(frame.stream);
    if (is_own(frame.stream))
        return violation(name_of(frame.stream) + " is not the peer's to open");
    if (id <= last_peer_) return violation("stream ids must increase");
    if (said_bye_) {
        // It crossed our bye, or the peer has not read it yet; the connection is about to end.
        last_peer_ = id;
        return {};
    }
    if (heard_bye_) return violation("a stream opened after bye");
    const std::uint32_t limit = role_ == Role::host ? limits::guest_streams : limits::host_streams;
    if (opened_by_peer_ >= limit) return violation("too many streams");
    last_peer_ = id;
    ++opened_by_peer_;
    streams_[frame.stream];
    events_.push_back(StreamOpened{frame.stream, std::move(frame.payload)});
    return {};
}

Result<void> Session::handle_in_stream(Frame frame) {
    const StreamId id = frame.stream;
    const bool own = is_own(id);
    if (frame.kind == FrameKind::end && !own) {
        return violation("end from the side that opened " + name_of(id));
    }
    if (frame.kind == FrameKind::reset && own) {
        return violation("reset from the side that did not open " + name_of(id));
    }
    if (static_cast<std::uint32_t>(id) > (own ? last_own_ : last_peer_)) {
        return violation(name_of(id) + " was never opened");
    }
    Stream* stream = find(id);
    if (stream == nullptr) {
        if (own) return violation("a frame after the end of " + name_of(id));
        // Ended here; the opener may not have read that yet, so its frames cross ours.
        if (frame.kind == FrameKind::reset) queue_.abandon(id);
        return {};
    }
    if (stream->was_reset && !own) return violation("a frame after the reset of " + name_of(id));
    if (frame.kind == FrameKind::data) return handle_data(*stream, std::move(frame));
    if (frame.kind == FrameKind::credit) return handle_credit(*stream, frame);
    if (frame.kind == FrameKind::end) {
        queue_.abandon(id);
        erase(id);
        events_.push_back(StreamEnded{id, std::move(frame.payload)});
    } else if (frame.kind == FrameKind::reset) {
        stream->was_reset = true;
        queue_.abandon(id);
        events_.push_back(StreamReset{id});
    } else if (!stream->was_reset) {
        events_.push_back(StreamEvent{id, std::move(frame.payload)});
    }
    return {};
}

Result<void> Session::handle_data(Stream& stream, Frame frame) {
    Lane& lane = stream.in[static_cast<std::size_t>(frame.channel) - 1];
    if (lane.half_closed) return violation("data after half-close on " + name_of(frame.stream));
    if (frame.payload.size() > lane.credit) {
        return violation("data beyond credit on " + name_of(frame.stream));
    }
    lane.credit -= static_cast<std::uint32_t>(frame.payload.size());
    lane.half_closed = frame.last;
    if (stream.was_reset) return {};  // it has crossed our reset
    events_.push_back(
        StreamData{frame.stream, frame.channel, std::move(frame.payload), frame.last});
    return {};
}

Result<void> Session::handle_credit(Stream& stream, const Frame& frame) {
    Lane& lane = stream.out[static_cast<std::size_t>(frame.channel) - 1];
    const std::uint32_t bytes = read_u32(frame.payload);
    if (bytes == 0 || bytes > lane.window - lane.credit) {
        return violation("credit beyond the window on " + name_of(frame.stream));
    }
    lane.credit += bytes;
    wake_waiters();
    return {};
}

}  // namespace protocol
