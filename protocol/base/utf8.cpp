#include "protocol/base/utf8.hpp"

#include <cstring>

namespace protocol {

std::size_t ascii_prefix(std::string_view text) {
    // 32 bytes a step: outputs of a gigabyte pass here, possibly on an emulated processor.
    constexpr std::uint64_t high_bits = 0x8080808080808080u;
    std::size_t at = 0;
    for (; text.size() - at >= 32; at += 32) {
        std::uint64_t words[4];
        std::memcpy(words, text.data() + at, sizeof words);
        if (((words[0] | words[1] | words[2] | words[3]) & high_bits) != 0) break;
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
