#include "protocol/text/output_window.hpp"

#include "protocol/text/utf8_decoder.hpp"
#include "protocol/wire/limits.hpp"

#include <random>

#include <gtest/gtest.h>

namespace protocol {
namespace {

constexpr std::size_t window = limits::output_window_characters;

std::string repeat(std::string_view text, std::size_t times) {
    std::string out;
    out.reserve(text.size() * times);
    while (times-- > 0) out += text;
    return out;
}

OutputWindow after(std::string_view bytes, std::size_t piece = 65'536) {
    OutputWindow output;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
        output.append(bytes.substr(0, piece));
    }
    output.finish();
    return output;
}

TEST(OutputWindow, KeepsBytesThatAreNotText) {  // O-09
    const OutputWindow output =
        after(std::string_view("a\xff\xfe"
                               "b\0c",
                               6));
    EXPECT_EQ(output.text(), std::string("a\xEF\xBF\xBD\xEF\xBF\xBD"
                                         "b\0c",
                                         10));
    EXPECT_EQ(output.characters(), 6u);
    EXPECT_EQ(output.bytes(), 6u);
}

TEST(OutputWindow, KeepsTheLastCharactersOfRandomBytes) {  // O-09
    std::mt19937 random(1);
    std::string bytes(300'000, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 256);
    const OutputWindow output = after(bytes);
    const std::string text = output.text();
    ASSERT_TRUE(is_valid_utf8(text));
    std::size_t kept = 0;
    for (std::string_view rest = text; !rest.empty(); ++kept)
        rest.remove_prefix(utf8_sequence(rest));
    EXPECT_EQ(kept, window);
    EXPECT_GT(output.characters(), window);
}

TEST(OutputWindow, CutsBetweenCharactersAndCountsThem) {  // O-10
    const OutputWindow output = after(repeat("\xE2\x82\xAC", 70'000) + "END");
    EXPECT_EQ(output.text(), repeat("\xE2\x82\xAC", 65'533) + "END");
    EXPECT_EQ(output.characters(), 70'003u);
    EXPECT_EQ(output.bytes(), 210'003u);
}

TEST(OutputWindow, JoinsACharacterThatArrivesByteByByte) {  // O-10
    OutputWindow output;
    output.append("\xE2");
    EXPECT_EQ(output.text(), "");
    output.append("\x82");
    output.append("\xAC");
    output.append("\n");
    output.finish();
    EXPECT_EQ(output.text(), "\xE2\x82\xAC\n");
    EXPECT_EQ(output.characters(), 2u);
}

TEST(OutputWindow, SurvivesAGibibyte) {  // O-11
    const std::string read(65'536, 'x');
    OutputWindow output;
    for (int i = 0; i < 16'384; ++i) output.append(read);
    output.finish();
    EXPECT_EQ(output.characters(), 1'073'741'824u);
    EXPECT_EQ(output.text(), std::string(window, 'x'));
}

TEST(OutputWindow, KeepsExactlyTheLimitWithoutCutting) {
    EXPECT_EQ(after(std::string(window, 'a')).text(), std::string(window, 'a'));
    EXPECT_EQ(after("b" + std::string(window, 'a')).text(), std::string(window, 'a'));
    EXPECT_EQ(after("b" + std::string(window - 1, 'a')).text(), "b" + std::string(window - 1, 'a'));
}

TEST(OutputWindow, DoesNotDependOnThePieces) {
    const std::string bytes = repeat("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\xFF", 40'000);
    const OutputWindow whole = after(bytes, bytes.size());
    EXPECT_EQ(whole.characters(), 200'000u);
    for (const std::size_t piece : {std::size_t{7}, std::size_t{4096}, std::size_t{65'536}}) {
        const OutputWindow pieces = after(bytes, piece);
        EXPECT_EQ(pieces.text(), whole.text());
        EXPECT_EQ(pieces.characters(), whole.characters());
    }
}

// Against a decoder that keeps everything, in a ring just as large as must be: each way the oldest
// byte that is left can lie inside a character, and each unfinished end.
TEST(OutputWindow, AgreesWithDecodingEverything) {
    std::mt19937 random(5);
    constexpr std::string_view units[] = {
        "a",        "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xF0\x9F\x98",
        "\xE2\x82", "\x80",     "\xFF"};
    for (int round = 0; round < 60; ++round) {
        const std::string_view usual = units[static_cast<std::size_t>(round) % std::size(units)];
        std::string bytes;
        while (bytes.size() < 300'000) {
            bytes += random() % 1000 == 0 ? units[random() % std::size(units)] : usual;
        }
        bytes += units[random() % std::size(units)];
        OutputWindow output;
        Utf8Decoder decoder;
        std::string text;
        std::uint64_t characters = decoder.decode(bytes, text);
        const auto last = [&] {
            std::string_view rest = text;
            for (std::uint64_t drop = characters - std::min<std::uint64_t>(characters, window);
                 drop > 0; --drop) {
                rest.remove_prefix(utf8_sequence(rest));
            }
            return rest;
        };
        for (std::string_view left = bytes; !left.empty();) {
            std::string_view piece = left.substr(0, 1 + random() % 70'000);
            if (random() % 2 == 0) {
                output.append(piece);
            } else {
                const std::span<char> room = output.prepare(piece.size());
                piece = piece.substr(0, room.size());
                piece.copy(room.data(), piece.size());
                output.commit(piece.size());
            }
            left.remove_prefix(piece.size());
        }
        ASSERT_EQ(output.characters(), characters);
        ASSERT_TRUE(output.text() == last());
        output.finish();
        characters += decoder.finish(text);
        ASSERT_EQ(output.characters(), characters);
        ASSERT_TRUE(output.text() == last());
    }
}

TEST(OutputWindow, CountsAnUnfinishedCharacterOnce) {
    OutputWindow output;
    output.append("x\xE2\x82");
    EXPECT_EQ(output.characters(), 1u);
    output.finish();
    output.finish();
    EXPECT_EQ(output.text(), "x\xEF\xBF\xBD");
    EXPECT_EQ(output.characters(), 2u);
}

}  // namespace
}  // namespace protocol
