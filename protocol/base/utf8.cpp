#include "protocol/base/utf8.hpp"

#include <cstring>

namespace protocol {

std::size_t ascii_prefix(std::string_view text) {
    // Outputs of a gigabyte pass here, possibly on an emulated processor: 128 bytes a step, in
    // words that are read one by one. Read together they become vector instructions, and those take
    // an emulated processor four times as long.
    constexpr std::uint64_t high_bits = 0x8080808080808080u;
    const auto word = [&](std::size_t at) {
        std::uint64_t value = 0;
        std::memcpy(&value, text.data() + at, sizeof value);
        return value;
    };
    const auto four_words = [&](std::size_t at) {
        return word(at) | word(at + 8) | word(at + 16) | word(at + 24);
    };
    std::size_t at = 0;
    for (; text.size() - at >= 128; at += 128) {
        const std::uint64_t all =
            four_words(at) | four_words(at + 32) | four_words(at + 64) | four_words(at + 96);
        if ((all & high_bits) != 0) break;
    }
    while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
    return at;
}

std::size_t utf8_sequence(std::string_view text) {
    if (text.empty()) return 0;
    auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    if (byte(0) < 0x80) return 1;
    Utf8Expected expected = utf8_lead(byte(0));
    if (expected.following == 0 || text.size() <= expected.following) return 0;
    const std::size_t length = std::size_t{1} + expected.following;
    for (std::size_t at = 1; at < length; ++at, expected = expected.next()) {
        if (!expected.takes(byte(at))) return 0;
    }
    return length;
}

bool is_valid_utf8(std::string_view text) {
    while (!text.empty()) {
        text.remove_prefix(ascii_prefix(text));
        if (text.empty()) break;
        const std::size_t length = utf8_sequence(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

}  // namespace protocol
