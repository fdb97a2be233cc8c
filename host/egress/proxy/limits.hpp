#pragma once
// Every number of the proxy, each with its reason.

#include "protocol/wire/limits.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace host::egress::limits {

using namespace std::chrono_literals;

inline constexpr std::uint32_t request_header_bytes = 32u << 10;
inline constexpr std::uint32_t response_header_bytes = 64u << 10;  // servers set large cookies
inline constexpr std::size_t fields = 128;
inline constexpr std::size_t buffer_bytes = 64u << 10;  // one direction of one connection
inline constexpr int interim_responses = 8;             // 1xx before the answer

inline constexpr std::size_t connections_per_run = protocol::limits::guest_egress_streams;
inline constexpr std::size_t connections = 2'048;  // all runs together
inline constexpr std::size_t lookups_per_run = 8;  // a resolver's answer can take seconds
inline constexpr std::size_t resolver_threads = 16;

inline constexpr auto header_time = 30s;      // first byte of a request's header to its end
inline constexpr auto connect_time = 15s;     // look-up and connection together
inline constexpr auto idle_time = 120s;       // nothing moves while a request is answered
inline constexpr auto keep_alive_time = 60s;  // between requests of one connection
inline constexpr auto tunnel_idle_time =
    600s;  // inside a CONNECT tunnel, whose ends keep their own time

inline constexpr double log_lines_per_second = 10;  // of one run; what is left out is counted
inline constexpr double log_burst = 100;

}  // namespace host::egress::limits
