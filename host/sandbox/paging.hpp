#pragma once
// Pages of lists: what a client's cursor and limit mean.

#include "host/sandbox/service.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace host::sandbox {

// Of a long poll; a client that wants longer asks again.
inline constexpr auto longest_wait = std::chrono::seconds(60);

// Opaque to clients: the number of the last row they have. invalid_argument for anything else.
Result<std::optional<std::int64_t>> parse_cursor(const std::string& text);
// Within what one answer may hold.
std::size_t page_limit(const Page& page);

}  // namespace host::sandbox
