#pragma once
// The frame of the host link and its incremental decoder. Pure; no I/O. docs/protocol.md is the
// normative text. Layout, big-endian, fixed for ever:
//   u32 length (payload only) | u8 kind | u32 stream | u8 channel | u8 flags | u8 zero

#include "protocol/base/ids.hpp"
#include "protocol/base/result.hpp"
#include "protocol/wire/limits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace protocol {

// Numbers are never reused.
enum class FrameKind : std::uint8_t {
    hello = 1,   // control, stream 0: once per connection and side
    open = 2,    // control: a new stream and what it is for
    event = 3,   // control: something inside a stream (stream 0: a notice)
    data = 4,    // raw bytes on a channel
    credit = 5,  // u32: bytes added to the peer's allowance on (stream, channel)
    end = 6,     // control, from the side that did not open: the stream's last frame
    reset = 7,   // empty, from the opener: abandon the stream; `end` still follows
    ping = 8,    // 8 opaque bytes
    pong = 9,    // the same 8 bytes
    bye = 10,    // control, stream 0: reason; the sender closes
};

enum class Channel : std::uint8_t { control = 0, input = 1, output = 2, error = 3 };

struct Frame {
    Frame() = default;  // user-declared: see docs/contributing.md, coroutine rules
    FrameKind kind{};
    StreamId stream{};
    Channel channel{};
    bool last = false;  // flag bit 0: half-close of (stream, channel); data frames only
    std::string payload;
};

// 8 magic bytes, then an 8-byte nonce. Sent by the host on every connection; the guest answers with
// the same 16 bytes before its hello, so both sides can discard what an earlier connection left.
inline constexpr std::array<unsigned char, 8> preamble_magic = {0xCA, 'P', 'S', 'L',
                                                                'I',  'N', 'K', '1'};
inline constexpr std::size_t preamble_bytes = 16;

// Appends the encoded frame to `out`. Asserts that the frame is one that a decoder takes.
void encode_frame(const Frame& frame, std::string& out);
// The header alone, for a payload that lies elsewhere (frame.payload is not looked at).
void encode_frame_header(const Frame& frame, std::size_t payload_bytes, std::string& out);

// Payload of a credit frame.
std::string encode_u32(std::uint32_t value);
std::uint32_t read_u32(std::string_view bytes);

// Feed bytes in pieces of any size, take frames out. After a failure the decoder is dead: the
// connection must be closed. Between feeds that are drained by next() it holds less than one frame.
class FrameDecoder {
  public:
    void feed(std::string_view bytes);
    // nullopt: more bytes are needed. Failure (protocol_violation), from the header alone: unknown
    // kind or channel, a kind on the wrong stream or channel, non-zero padding, unknown flag, a
    // length outside the kind's limits, data without bytes that is not a half-close.
    Result<std::optional<Frame>> next();
    // True when no byte of an unfinished frame is held.
    bool at_boundary() const;
    // What has been fed and not been taken out as a frame.
    std::string_view rest() const;
    void clear();
    std::size_t held_bytes() const;

  private:
    std::string buffer_;
    std::size_t consumed_ = 0;
    bool dead_ = false;
};

}  // namespace protocol
