#include "protocol/text/utf8_counter.hpp"

#include "protocol/text/utf8_decoder.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace protocol {
namespace {

// What is counted of bytes that arrive in pieces: all of it, and what was before the end was known.
struct Counted {
    std::uint64_t before_the_end = 0, whole = 0;
    bool operator==(const Counted&) const = default;
};

Counted decoded(std::string_view bytes) {
    Utf8Decoder decoder;
    std::string text;
    const std::uint64_t before_the_end = decoder.decode(bytes, text);
    return {before_the_end, before_the_end + decoder.finish(text)};
}

Counted counted(std::string_view bytes, std::size_t piece) {
    Utf8Counter counter;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
        counter.count(bytes.substr(0, piece));
    }
    const std::uint64_t before_the_end = counter.characters();
    counter.finish();
    return {before_the_end, counter.characters()};
}

std::string hex(std::string_view bytes) {
    std::string text;
    for (const char each : bytes) {
        constexpr const char* digits = "0123456789abcdef";
        text += {digits[static_cast<unsigned char>(each) >> 4], digits[each & 15], ' '};
    }
    return text;
}

constexpr std::array<unsigned char, 24> edges{0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0,
                                              0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC,
                                              0xED, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};

// Each lead with each byte after it, and after them all that the ranges tell apart.
TEST(Utf8Counter, CountsEachPairOfBytesAsTheDecoder) {
    for (unsigned pair = 0; pair < 0x10000; ++pair) {
        std::string bytes{static_cast<char>(pair >> 8), static_cast<char>(pair & 0xFF)};
        ASSERT_EQ(counted(bytes, 2), decoded(bytes)) << hex(bytes);
        bytes += "\x80\xBF\x80";
        ASSERT_EQ(counted(bytes, 5), decoded(bytes)) << hex(bytes);
    }
}

// Beginning at seven places of a word in turn, so that a sequence goes on in the next word.
TEST(Utf8Counter, CountsEachFourEdgesAsTheDecoder) {
    const std::size_t combinations = edges.size() * edges.size() * edges.size() * edges.size();
    for (std::size_t combination = 0; combination < combinations; ++combination) {
        // Not ASCII before them, which would be skipped.
        std::string bytes(combination % 7, '\xFF');
        for (std::size_t each = 0, rest = combination; each < 4; ++each, rest /= edges.size()) {
            bytes += static_cast<char>(edges[rest % edges.size()]);
        }
        bytes +=
            "\x80"
            "end\xC3";
        ASSERT_EQ(counted(bytes, bytes.size()), decoded(bytes)) << hex(bytes);
    }
}

TEST(Utf8Counter, DoesNotDependOnThePieces) {
    std::mt19937 random(7);
    for (int round = 0; round < 400; ++round) {
        std::string bytes(random() % 1500, '\0');
        for (char& each : bytes) {
            // Everything; only what makes trouble; that and long runs of ASCII.
            each = static_cast<char>(round % 3 == 0 || random() % 2 == 0
                                         ? random() % 256
                                         : edges[random() % edges.size()]);
            if (round % 3 == 2 && random() % 16 != 0) each = 'a';
        }
        const Counted right = decoded(bytes);
        for (const std::size_t piece : {1, 2, 3, 5, 7, 8, 9, 13, 64, 256, 1500}) {
            ASSERT_EQ(counted(bytes, piece), right)
                << "in pieces of " << piece << ": " << hex(bytes);
        }
    }
}

// Three of four bytes continue a sequence: the most that can, and the most that a sum must hold.
TEST(Utf8Counter, CountsTheLongestCharacters) {
    std::string bytes;
    for (int each = 0; each < 3000; ++each) bytes += "\xF0\x9F\x98\x80";
    EXPECT_EQ(counted(bytes, bytes.size()).whole, 3000u);
    EXPECT_EQ(counted(bytes, 259).whole, 3000u);
    EXPECT_EQ(counted(bytes.substr(3), bytes.size()).whole, 1u + 2999u);
}

TEST(Utf8Counter, DoesNotCountWhatIsUnfinished) {
    Utf8Counter counter;
    counter.count("x\xE2\x82");
    EXPECT_EQ(counter.characters(), 1u);
    counter.count("\xAC\xE2");
    EXPECT_EQ(counter.characters(), 2u);
    counter.finish();
    counter.finish();
    EXPECT_EQ(counter.characters(), 3u);
}

}  // namespace
}  // namespace protocol
