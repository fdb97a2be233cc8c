#pragma once
// Session: one end of one host-link connection, without I/O, clock, threads or logging. Bytes and
// time go in, bytes and events come out, so that it can be tested byte by byte and fuzzed. What must
// survive a connection (commands, their results and offsets) lives above it.
//
// Use: feed() what was read; drain next_event(); write output() and report it with written(); call
// tick() at least once a second. After any Failure, or a Closed event, write what output() still
// holds if possible and close the transport.
//
// Threading: none; one owner.

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

#include "protocol/base/ids.hpp"
#include "protocol/base/result.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/limits.hpp"

namespace protocol {

enum class Role : std::uint8_t { host, guest };

using TimePoint = std::chrono::steady_clock::time_point;
using Nonce = std::array<unsigned char, 8>;

// ---- what happened, in the order it happened ---------------------------------------------------

// The peer's hello has been read (payload: JSON text of messages.hpp's Hello). On the guest, also
// sent again when the host starts a new connection over the same byte stream: all streams of the
// earlier one are gone by then, without further events.
struct PeerReady { std::string hello; };
struct StreamOpened { StreamId stream; std::string request; };
struct StreamEvent { StreamId stream; std::string payload; };  // stream 0: a notice
struct StreamData { StreamId stream; Channel channel; std::string bytes; bool last; };
// Allowance came back after send_data() had taken less than offered.
struct StreamWritable { StreamId stream; Channel channel; };
struct StreamEnded { StreamId stream; std::string payload; };   // only at the opener
struct StreamReset { StreamId stream; };                        // only at the acceptor; end() is still due
struct PeerBye { std::string reason; };

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
    Result<void> feed(std::string_view bytes, TimePoint now);
    // Contiguous bytes to write next; empty when there is nothing. Valid until the next call. Control
    // frames go before data; data goes round-robin over streams, one frame of at most 64 KiB each.
    std::string_view output();
    void written(std::size_t bytes);
    std::optional<SessionEvent> next_event();

    // ---- time ----
    // Queues a ping after limits::ping_idle of silence; fails with timed_out after limits::silence,
    // or when the peer's hello is overdue (host role: limits::handshake).
    Result<void> tick(TimePoint now);

    // ---- streams ----
    bool ready() const { return ready_; }
    // Opens a stream; resource_exhausted when the role's stream limit is reached, unavailable before
    // PeerReady or after bye.
    Result<StreamId> open(std::string request);
    // A control message inside a live stream or, with StreamId::connection, a notice. Ignored (false)
    // when the stream is gone.
    bool send_event(StreamId stream, std::string payload);
    // Takes as much as credit and limits::data_queue_bytes allow and returns how much that was. A
    // shortfall is answered later by StreamWritable. `last` half-closes the channel once all bytes
    // offered have been taken (it needs no credit). Returns 0 for a stream that is gone.
    std::size_t send_data(StreamId stream, Channel channel, std::string_view bytes, bool last);
    std::size_t sendable(StreamId stream, Channel channel) const;
    // The consumer has taken `bytes` of received data: credit goes back to the peer, in steps.
    void consumed(StreamId stream, Channel channel, std::size_t bytes);
    // Acceptor: finishes the stream, exactly once. Data queued for it is sent first.
    void end(StreamId stream, std::string payload);
    // Opener: abandon. Data for it is dropped and credited from now on; StreamEnded still comes.
    void reset(StreamId stream);
    void bye(std::string reason);
    std::size_t streams_open() const { return streams_.size(); }
    // Bytes held in queues, for memory bounds in tests.
    std::size_t queued_bytes() const;

  private:
    struct Lane;    // one direction of one channel
    struct Stream;
    // (the implementer completes this part)
    bool ready_ = false;
    std::map<StreamId, Stream> streams_;
};

}  // namespace protocol
