#pragma once
// Durations as users write them: "hh:mm:ss". Used by definitions, the API and the command line.

#include "protocol/base/result.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace protocol {

using Milliseconds = std::chrono::milliseconds;

// Accepts exactly two or more digits, ':', 00-59, ':', 00-59, and a value above zero. Everything
// else ("-00:05:00", "00:60:00", "5m", "00:05:00 ", "") is invalid_argument with what to write.
// "24:00:00" is 24 hours.
Result<Milliseconds> parse_duration(std::string_view text);

// "00:05:00"; fractions of a second are rounded up so that a limit never prints as 00:00:00.
std::string format_duration(Milliseconds duration);

}  // namespace protocol
