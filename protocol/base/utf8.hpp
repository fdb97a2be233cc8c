#pragma once
// Well-formed UTF-8 (Unicode 15, table 3-7): the one place that knows its byte ranges, besides
// text/utf8_counter.cpp, which knows them as masks. Pure.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace protocol {

// What may follow inside a sequence: how many continuation bytes, and the range of the next of them
// (those after it are 80..BF). The range is empty when nothing may follow.
struct Utf8Expected {
    std::uint8_t following = 0;
    unsigned char lower = 1, upper = 0;

    constexpr bool takes(unsigned char byte) const { return lower <= byte && byte <= upper; }
    // After a byte that it takes.
    constexpr Utf8Expected next() const {
        if (following <= 1) return {};
        return {static_cast<std::uint8_t>(following - 1), 0x80, 0xBF};
    }
    constexpr bool operator==(const Utf8Expected&) const = default;
};

// After a byte that starts a sequence. Nothing follows ASCII and bytes that start nothing.
constexpr Utf8Expected utf8_lead(unsigned char byte) {
    if (byte >= 0xC2 && byte <= 0xDF) return {1, 0x80, 0xBF};
    if (byte == 0xE0) return {2, 0xA0, 0xBF};  // no overlong forms
    if (byte == 0xED) return {2, 0x80, 0x9F};  // no surrogates
    if (byte >= 0xE1 && byte <= 0xEF) return {2, 0x80, 0xBF};
    if (byte == 0xF0) return {3, 0x90, 0xBF};  // no overlong forms
    if (byte >= 0xF1 && byte <= 0xF3) return {3, 0x80, 0xBF};
    if (byte == 0xF4) return {3, 0x80, 0x8F};  // nothing above U+10FFFF
    return {};
}

// Length of the ASCII run at the start.
std::size_t ascii_prefix(std::string_view text);

// Length (1 to 4) of the well-formed sequence at the start; 0 when it is ill-formed, cut off or
// empty.
std::size_t utf8_sequence(std::string_view text);

// Strict check of text from outside.
bool is_valid_utf8(std::string_view text);

}  // namespace protocol
