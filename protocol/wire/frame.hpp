#pragma once
// The frame of the host link and its incremental decoder. Pure; no I/O. docs/protocol.md is the
// normative text. Layout, big-endian, fixed for ever:
//   u32 length (payload only) | u8 kind | u32 stream | u8 channel | u8 flags | u8 zero

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocol/base/ids.hpp"
#include "protocol/base/result.hpp"
#include "protocol/wire/limits.hpp"

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
inline constexpr std::array<unsigned char, 8> preamble_magic = {0xCA, 'P', 'S', 'L', 'I', 'N', 'K', '1'};
inline constexpr std::size_t preamble_bytes = 16;

// Appends the encoded frame to `out`. Asserts that the payload respects the limits.
void encode_frame(const Frame& frame, std::string& out);

// Feed bytes in pieces of any size, take frames out. After a failure the decoder is dead: the
// connection must be closed. Holds at most one frame's payload plus one header.
class FrameDecoder {
  public:
    void feed(std::string_view bytes);
    // nullopt: more bytes are needed. Failure (protocol_violation): unknown kind or channel, non-zero
    // padding, unknown flag, length over the kind's limit (checked from the header alone).
    Result<std::optional<Frame>> next();
    // True when no byte of an unfinished frame is held.
    bool at_boundary() const;

  private:
    std::string buffer_;
    std::size_t consumed_ = 0;
    bool dead_ = false;
};

}  // namespace protocol
