#pragma once
// Target: a request's target taken apart and decoded, strictly. Pure.

#include "protocol/base/result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace host::api {

struct Target {
    Target() = default;
    // Decoded; raw bytes, as file names may be. Never empty, ".", "..", never with '/' or NUL.
    std::vector<std::string> segments;
    std::vector<std::pair<std::string, std::string>> query;  // decoded; valid UTF-8

    const std::string* parameter(std::string_view name) const;
};

// invalid_argument for anything but an origin-form target ("/a/b?c=d"), bad escapes, empty segments
// (a '/' at the end is allowed), segments that would leave the path, and repeated query parameters.
protocol::Result<Target> parse_target(std::string_view text);

// "%41" to "A"; nullopt for '%' without two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace host::api
