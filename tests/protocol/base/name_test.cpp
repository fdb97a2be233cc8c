#include "protocol/base/name.hpp"

#include <gtest/gtest.h>

namespace protocol {
namespace {

TEST(Name, AcceptsLowerCaseDigitsAndDashes) {
    for (const char* text : {"a", "0", "sales-data", "a-", "9-to-5"}) {
        EXPECT_TRUE(is_valid_name(text)) << text;
    }
    EXPECT_TRUE(is_valid_name(std::string(63, 'a')));
}

TEST(Name, RefusesWhatCouldBeAPathOrAnOption) {
    for (const char* text :
         {"", "-a", ".", "..", "a/b", "/abs", "a.b", "A", "a b", "a_b", "\xC3\xA4"}) {
        EXPECT_FALSE(is_valid_name(text)) << text;
    }
    EXPECT_FALSE(is_valid_name(std::string(64, 'a')));
    EXPECT_FALSE(is_valid_name(std::string_view("x\0y", 3)));
}

TEST(EscapeForeign, LeavesTextAlone) {
    EXPECT_EQ(escape_foreign("na\xC3\xAFve \xE2\x82\xAC \xF0\x9F\x98\x80"),
              "na\xC3\xAFve \xE2\x82\xAC \xF0\x9F\x98\x80");
}

TEST(EscapeForeign, WritesControlsAndBrokenBytesAsHex) {
    EXPECT_EQ(escape_foreign("a\n\x1b[31m\x7f"), "a\\x0A\\x1B[31m\\x7F");
    EXPECT_EQ(escape_foreign(std::string_view("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(escape_foreign("\xFF\xC3"), "\\xFF\\xC3");
    EXPECT_EQ(escape_foreign("\xC2\x9B"
                             "31m"),
              "\\xC2\\x9B31m");  // CSI as one C1 control
    EXPECT_EQ(escape_foreign("\xE2\x80\xAE"
                             "txt"),
              "\\xE2\\x80\\xAEtxt");                    // right-to-left override
    EXPECT_EQ(escape_foreign("\xC2\xA0"), "\xC2\xA0");  // first after the C1 block
}

TEST(EscapeForeign, CutsBetweenCharacters) {
    EXPECT_EQ(escape_foreign("abcdef", 3), "abc...");
    EXPECT_EQ(escape_foreign("abc", 3), "abc");
    EXPECT_EQ(escape_foreign("ab\xE2\x82\xAC", 4), "ab...");
    EXPECT_EQ(escape_foreign("ab\n", 4), "ab...");
}

}  // namespace
}  // namespace protocol
