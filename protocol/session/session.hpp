#pragma once
// Session: one end of one host-link connection, without I/O, clock, threads or logging. Bytes and
// time go in, bytes and events come out, so that it can be tested byte by byte and fuzzed. What
// must survive a connection (commands, their results and offsets) lives above it.
//
// Use: feed() what was read; drain next_event(); write output() and report it with written() (which
// can cause events, too); call tick() every limits::tick. After any Failure write what output()
// still holds if possible and close the transport. Calls for a stream that is gone are ignored.
//
// Threading: none; one owner.

#include "protocol/base/ids.hpp"
#include "protocol/base/result.hpp"
#include "protocol/session/preamble_seeker.hpp"
#include "protocol/session/send_queue.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/limits.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace protocol {

enum class Role : std::uint8_t { host, guest };

using TimePoint = std::chrono::steady_clock::time_point;

// ---- what happened, in the order it happened ---------------------------------------------------

// The peer's hello has been read (payload: JSON text of messages.hpp's Hello). On the guest, also
// sent again when the host starts a new connection over the same byte stream: all streams of the
// earlier one are gone by then, without further events.
struct PeerReady {
    std::string hello;
};
struct StreamOpened {
    StreamId stream;
    std::string request;
};
struct StreamEvent {
    StreamId stream;
    std::string payload;
};  // stream 0: a notice
struct StreamData {
    StreamId stream;
    Channel channel;
    std::string bytes;
    bool last;
};
// Allowance came back after send_data() had taken less than offered.
struct StreamWritable {
    StreamId stream;
    Channel channel;
};
struct StreamEnded {
    StreamId stream;
    std::string payload;
};  // only at the opener
struct StreamReset {
    StreamId stream;
};  // only at the acceptor; end() is still due
struct PeerBye {
    std::string reason;
};

using SessionEvent = std::variant<PeerReady, StreamOpened, StreamEvent, StreamData, StreamWritable,
                                  StreamEnded, StreamReset, PeerBye>;

class Session {
  public:
    // The host sends preamble and hello at once. The guest sends nothing until it has read a
    // preamble, then answers with the host's nonce and its own hello. `hello` is JSON text. The
    // guest ignores nonce (taken from the host).
    Session(Role role, std::string hello, Nonce nonce, TimePoint now);

    // ---- bytes ----
    // protocol_violation: see docs/protocol.md; a `bye` with the reason has been queued.
    // unavailable: the peer does not read what is sent to it (limits::control_queue_bytes). A
    // session that has failed fails at each further call.
    Result<void> feed(std::string_view bytes, TimePoint now);
    // Guest: the transport says that the host has gone while the byte stream stays usable (a
    // virtio-serial port that reads 0). Streams, queues and unread events are dropped; nothing is
    // sent until the next preamble.
    void interrupted();
    // Contiguous bytes to write next; empty when there is nothing. Valid until the next call.
    // Control frames go before data; data goes round-robin over streams, one frame of at most 64
    // KiB each.
    std::string_view output();
    void written(std::size_t bytes);
    std::optional<SessionEvent> next_event();
    bool has_events() const { return !events_.empty(); }
    // So much waits to be sent that what arrives should wait as well: answers may be large.
    bool backlogged() const { return queue_.control_bytes() > limits::control_queue_bytes / 2; }

    // ---- time ----
    // Queues a ping after limits::ping_idle of silence; fails with timed_out after limits::silence,
    // or when the peer's hello is overdue (host role: limits::handshake). A caller that comes late
    // does not fail the peer: limits::longest_tick.
    Result<void> tick(TimePoint now);

    // ---- streams ----
    bool ready() const { return ready_; }
    // Opens a stream; resource_exhausted when the role's stream limit is reached, unavailable
    // before PeerReady, after bye and after a failure, too_large for a request that fits no frame.
    Result<StreamId> open(std::string request);
    // A control message inside a live stream or, with StreamId::connection, a notice. Inside a
    // stream it leaves after the data accepted before it. False when it was not sent: the stream is
    // gone or the payload fits no frame.
    bool send_event(StreamId stream, std::string payload);
    // Takes as much as credit and limits::data_queue_bytes allow and returns how much that was. A
    // shortfall is answered later by StreamWritable. `last` half-closes the channel once all bytes
    // offered have been taken (it needs no credit). Returns 0 for a stream that is gone.
    std::size_t send_data(StreamId stream, Channel channel, std::string_view bytes, bool last);
    std::size_t sendable(StreamId stream, Channel channel) const;
    // The channel's allowance from the start, and the most it can be, in place of window_bytes.
    // Both sides call it before anything has been sent on the channel. `bytes`: window_bytes to
    // follow_window_bytes.
    void widen(StreamId stream, Channel channel, std::uint32_t bytes);
    // StreamWritable shall say when more can be sent, as after a shortfall.
    void await_credit(StreamId stream, Channel channel);
    // Nothing waits to be written.
    bool idle() const { return queue_.empty(); }
    // The transport has moved data by itself (PageCarrier), which it may begin while idle():
    // `bytes` of a stream that is there, at most sendable(). `rest`: the end of those frames'
    // encoding, which is still to be written.
    void moved(StreamId stream, Channel channel, std::size_t bytes, std::string rest);
    // The consumer has taken `bytes` of received data: credit goes back to the peer, in steps. More
    // than was received is not credited.
    void consumed(StreamId stream, Channel channel, std::size_t bytes);
    // Acceptor: finishes the stream, exactly once. Data queued for it is sent first. A payload that
    // fits no frame is replaced by a too_large failure.
    void end(StreamId stream, std::string payload);
    // Opener: abandon. What still comes for it is dropped, except for StreamEnded.
    void reset(StreamId stream);
    void bye(std::string reason);
    std::size_t streams_open() const { return streams_.size(); }
    // Bytes held in queues, for memory bounds in tests.
    std::size_t queued_bytes() const;

  private:
    enum class Phase : std::uint8_t { seeking, greeting, open };

    // One direction of one channel.
    struct Lane {
        std::uint32_t window = limits::window_bytes;
        std::uint32_t credit = limits::window_bytes;  // bytes that may still be sent
        std::uint32_t taken = 0;                      // incoming: consumed and not yet credited
        bool half_closed = false;
        bool waiting = false;  // outgoing: StreamWritable is due
    };
    struct Stream {
        bool opened_here = false;
        bool was_reset = false;  // by the opener, whichever side that is
        std::array<Lane, 3> out, in;
    };

    bool opens_even() const { return role_ == Role::host; }
    bool is_own(StreamId stream) const;
    Stream* find(StreamId stream);
    void erase(StreamId stream);
    std::size_t room(const Lane& lane) const;
    void await(Lane& lane, StreamId stream, Channel channel);
    void wake_waiters();
    void push_control(FrameKind kind, StreamId stream, std::string payload);
    void check_control_queue();
    void drop_streams();
    Result<void> fail_with(Failure failure);

    // session_input.cpp
    void seek();
    void begin_connection(const Nonce& nonce);
    Result<void> handle(Frame frame);
    Result<void> handle_hello(Frame frame);
    Result<void> handle_open(Frame frame);
    Result<void> handle_in_stream(Frame frame);
    Result<void> handle_data(Stream& stream, Frame frame);
    Result<void> handle_credit(Stream& stream, const Frame& frame);

    const Role role_;
    const std::string hello_;
    Phase phase_ = Phase::seeking;
    bool ready_ = false;
    bool said_bye_ = false;
    bool heard_bye_ = false;
    std::optional<Failure> failure_;

    std::map<StreamId, Stream> streams_;
    std::size_t opened_here_ = 0, opened_by_peer_ = 0;
    std::uint32_t last_own_ = 0, last_peer_ = 0;  // highest id opened so far, 0: none

    PreambleSeeker seeker_;
    FrameDecoder decoder_;
    SendQueue queue_;
    std::deque<SessionEvent> events_;
    std::deque<std::pair<StreamId, Channel>> waiters_;

    TimePoint last_heard_, last_ping_, last_tick_;
    // What the peer can be blamed for: without hello, and without a byte.
    TimePoint::duration unanswered_{}, silent_{};
    std::uint64_t pings_ = 0;
};

}  // namespace protocol
