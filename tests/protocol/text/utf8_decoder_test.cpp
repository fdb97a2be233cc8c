#include "protocol/text/utf8_decoder.hpp"

#include "protocol/text/utf8_counter.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace protocol {
namespace {

constexpr const char* bad = "\xEF\xBF\xBD";

struct Decoded {
    std::string text;
    std::uint64_t characters = 0;
    bool operator==(const Decoded&) const = default;
};

Decoded decode(std::string_view bytes, std::size_t piece) {
    Utf8Decoder decoder;
    Decoded out;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
        out.characters += decoder.decode(bytes.substr(0, piece), out.text);
    }
    out.characters += decoder.finish(out.text);
    return out;
}

std::uint64_t count(std::string_view bytes, std::size_t piece) {
    Utf8Counter counter;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
        counter.count(bytes.substr(0, piece));
    }
    counter.finish();
    return counter.characters();
}

std::string replaced(int times) {
    std::string out;
    while (times-- > 0) out += bad;
    return out;
}

struct Case {
    const char* name;
    std::string bytes;
    std::string text;
    std::uint64_t characters;
};

// Expected values from Unicode 15, section 3.9, tables 3-8 to 3-11, and the WHATWG decoder.
const std::vector<Case> cases = {
    {"empty", "", "", 0},
    {"ascii", "abc", "abc", 3},
    {"nul", std::string("a\0b", 3), std::string("a\0b", 3), 3},
    {"mixed", "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", 4},
    {"stray bytes",
     std::string("a\xff\xfe"
                 "b\0c",
                 6),
     "a" + replaced(2) + std::string("b\0c", 3), 6},
    {"overlong four",
     "\xF0\x80\x80"
     "A",
     replaced(3) + "A", 4},
    {"overlong three", "\xE0\x80\xAF", replaced(3), 3},
    {"overlong two", "\xC0\xAF", replaced(2), 2},
    {"surrogate", "\xED\xA0\x80", replaced(3), 3},
    {"above range",
     "\xF4\x91\x92\x93\xFF"
     "A",
     replaced(5) + "A", 6},
    {"truncated kept whole",
     "\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
     "A",
     replaced(4) + "A", 5},
    {"cut at the end, one of two", "x\xC3", std::string("x") + bad, 2},
    {"cut at the end, three of four", "x\xF0\x9F\x98", std::string("x") + bad, 2},
    {"lead after lead", "\xE2\xE2\x82\xAC", std::string(bad) + "\xE2\x82\xAC", 2},
    {"ascii inside a character",
     "\xE2\x82"
     "A",
     std::string(bad) + "A", 2},
};

TEST(Utf8Decoder, ReplacesMaximalSubparts) {
    for (const Case& each : cases) {
        EXPECT_EQ(decode(each.bytes, 1000), (Decoded{each.text, each.characters})) << each.name;
    }
}

TEST(Utf8Decoder, DoesNotDependOnThePieces) {
    for (const Case& each : cases) {
        for (std::size_t piece = 1; piece <= 4; ++piece) {
            EXPECT_EQ(decode(each.bytes, piece), (Decoded{each.text, each.characters}))
                << each.name << " in pieces of " << piece;
            EXPECT_EQ(count(each.bytes, piece), each.characters) << each.name;
        }
    }
}

TEST(Utf8Decoder, TurnsAnyBytesIntoValidTextWithTheRightCount) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        std::string bytes(random() % 64, '\0');
        // Half of them from the bytes that make trouble.
        constexpr unsigned char edges[] = {0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2,
                                           0xE0, 0xE2, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFF};
        for (char& c : bytes) {
            c = static_cast<char>(round % 2 == 0 ? random() % 256 : edges[random() % sizeof edges]);
        }
        const Decoded whole = decode(bytes, bytes.size() + 1);
        ASSERT_TRUE(is_valid_utf8(whole.text));
        std::uint64_t counted = 0;
        for (std::string_view rest = whole.text; !rest.empty(); ++counted) {
            rest.remove_prefix(utf8_sequence(rest));
        }
        ASSERT_EQ(counted, whole.characters);
        ASSERT_EQ(decode(bytes, 1), whole);
        ASSERT_EQ(decode(bytes, 3), whole);
        ASSERT_EQ(count(bytes, bytes.size() + 1), whole.characters);
        ASSERT_EQ(count(bytes, 3), whole.characters);
    }
}

TEST(Utf8Decoder, FinishesOnce) {
    Utf8Decoder decoder;
    std::string out;
    decoder.decode("\xE2\x82", out);
    EXPECT_EQ(decoder.finish(out), 1u);
    EXPECT_EQ(decoder.finish(out), 0u);
    EXPECT_EQ(out, bad);
}

}  // namespace
}  // namespace protocol
