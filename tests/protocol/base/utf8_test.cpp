#include "protocol/base/utf8.hpp"

#include <string>

#include <gtest/gtest.h>

namespace protocol {
namespace {

std::string encode(std::uint32_t point) {
    std::string out;
    const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (point < 0x80) {
        put(point);
    } else if (point < 0x800) {
        put(0xC0 | point >> 6), put(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        put(0xE0 | point >> 12), put(0x80 | (point >> 6 & 0x3F)), put(0x80 | (point & 0x3F));
    } else {
        put(0xF0 | point >> 18), put(0x80 | (point >> 12 & 0x3F));
        put(0x80 | (point >> 6 & 0x3F)), put(0x80 | (point & 0x3F));
    }
    return out;
}

TEST(Utf8, AcceptsEveryCodePointAndNoSurrogate) {
    for (std::uint32_t point = 0; point <= 0x10FFFF; ++point) {
        const std::string text = encode(point);
        const bool is_surrogate = point >= 0xD800 && point <= 0xDFFF;
        ASSERT_EQ(utf8_sequence(text), is_surrogate ? 0 : text.size()) << std::hex << point;
    }
    EXPECT_EQ(utf8_sequence(encode(0x110000)), 0u);
}

TEST(Utf8, RefusesOverlongAndCutSequences) {
    for (const char* text :
         {"\xC0\xAF", "\xC1\xBF", "\xE0\x80\xAF", "\xE0\x9F\xBF", "\xF0\x80\x80\xAF",
          "\xF0\x8F\xBF\xBF", "\x80", "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xFE"}) {
        EXPECT_FALSE(is_valid_utf8(text));
        EXPECT_FALSE(is_valid_utf8("valid before " + std::string(text)));
    }
}

TEST(Utf8, FindsTheAsciiRunWhereverItEnds) {
    for (std::size_t length = 0; length < 100; ++length) {
        const std::string ascii(length, 'x');
        EXPECT_EQ(ascii_prefix(ascii), length);
        EXPECT_EQ(ascii_prefix(ascii + "\x80" + std::string(40, 'y')), length);
    }
}

}  // namespace
}  // namespace protocol
