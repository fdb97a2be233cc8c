#pragma once
// Bounds of the HTTP API, each with its reason. docs/api.md states those a client can meet.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace host::api::limits {

using namespace std::chrono_literals;

inline constexpr std::uint32_t head_bytes = 16u << 10;      // request line and fields together
inline constexpr std::size_t json_body_bytes = 1u << 20;    // holds every argument exec can take
inline constexpr std::size_t deploy_body_bytes = 8u << 20;  // a whole folder of definitions
inline constexpr std::size_t read_ahead_bytes =
    256u << 10;  // taken from a socket before it is asked for
inline constexpr std::size_t piece_bytes = 256u << 10;  // of a file, between loop and worker pool
inline constexpr std::size_t drained_bytes =
    64u << 10;  // an unread body up to this keeps the connection
inline constexpr std::size_t idempotency_key_bytes = 200;
inline constexpr std::size_t terminal_message_bytes = 1u << 20;

inline constexpr auto long_poll = 60s;
inline constexpr auto keep_alive = 10s;  // live output: a record, events: a comment
inline constexpr auto linger = 2s;       // reading on after a refusal, so that the client sees it
inline constexpr auto stalled_stream =
    10min;  // a follower that takes nothing; a terminal may be stopped
inline constexpr auto final_record = 10s;  // from "exited" to the stored result

}  // namespace host::api::limits
