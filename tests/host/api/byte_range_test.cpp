#include "host/api/byte_range.hpp"

#include <gtest/gtest.h>

namespace host::api {
namespace {

using What = ByteRange::What;

TEST(ByteRange, ReadsTheThreeForms) {
    const auto middle = parse_range("bytes=2-4", 10);
    EXPECT_EQ(middle.what, What::part);
    EXPECT_EQ(middle.first, 2u);
    EXPECT_EQ(middle.length, 3u);
    const auto rest = parse_range("bytes=7-", 10);
    EXPECT_EQ(rest.first, 7u);
    EXPECT_EQ(rest.length, 3u);
    const auto tail = parse_range("bytes=-4", 10);
    EXPECT_EQ(tail.first, 6u);
    EXPECT_EQ(tail.length, 4u);
}

TEST(ByteRange, CutsAtTheEndOfTheFile) {
    EXPECT_EQ(parse_range("bytes=8-99", 10).length, 2u);
    EXPECT_EQ(parse_range("bytes=-99", 10).length, 10u);
    EXPECT_EQ(parse_range("bytes=0-18446744073709551615", 10).length, 10u);
}

TEST(ByteRange, RefusesWhatLiesOutside) {
    EXPECT_EQ(parse_range("bytes=10-", 10).what, What::unsatisfiable);
    EXPECT_EQ(parse_range("bytes=0-0", 0).what, What::unsatisfiable);
    EXPECT_EQ(parse_range("bytes=-0", 10).what, What::unsatisfiable);
}

TEST(ByteRange, AnswersInFullWhatItDoesNotUnderstand) {
    for (const char* text :
         {"", "bytes", "bytes=", "bytes=-", "bytes=4-2", "bytes=a-b", "bytes=0-1,3-4", "lines=1-2",
          "bytes= 1-2", "bytes=1-2x", "bytes=99999999999999999999-"}) {
        EXPECT_EQ(parse_range(text, 10).what, What::whole) << text;
    }
}

}  // namespace
}  // namespace host::api
