#pragma once
// ByteRange: the Range field of a request (RFC 9110, section 14). Pure.

#include <cstdint>
#include <string_view>

namespace host::api {

struct ByteRange {
    ByteRange() = default;
    // whole: no range, one that is not understood, or several (answering in full is allowed).
    enum class What : std::uint8_t { whole, part, unsatisfiable } what = What::whole;
    std::uint64_t first = 0, length = 0;  // of part
};

ByteRange parse_range(std::string_view text, std::uint64_t size);

}  // namespace host::api
