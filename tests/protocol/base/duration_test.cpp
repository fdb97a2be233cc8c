#include "protocol/base/duration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace protocol {
namespace {

using namespace std::chrono_literals;

TEST(Duration, ReadsHoursMinutesSeconds) {
    EXPECT_EQ(parse_duration("00:00:01").value(), 1s);
    EXPECT_EQ(parse_duration("00:05:00").value(), 5min);
    EXPECT_EQ(parse_duration("24:00:00").value(), 24h);
    EXPECT_EQ(parse_duration("100:59:59").value(), 100h + 59min + 59s);
    EXPECT_EQ(parse_duration("999999:00:00").value(), 999'999h);
}

TEST(Duration, RefusesEverythingElseAndSaysWhatToWrite) {
    for (const char* text : {"", "5m", "300", "00:00:00", "-00:05:00", "00:60:00", "00:00:60",
                             "0:05:00", "00:5:00", "00:05", "00:05:00 ", " 00:05:00", "00:05:00\n",
                             "+1:00:00", "00-05-00", "1000000:00:00", "00:05:0x"}) {
        const auto parsed = parse_duration(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error().kind(), Kind::invalid_argument);
        EXPECT_THAT(parsed.error().message(), testing::HasSubstr("hh:mm:ss"));
    }
}

TEST(Duration, EscapesWhatItRefuses) {
    EXPECT_THAT(parse_duration("\x1b[2J").error().message(), testing::HasSubstr("\\x1B[2J"));
}

TEST(Duration, WritesWhatItReadsAndRoundsFractionsUp) {
    EXPECT_EQ(format_duration(5min), "00:05:00");
    EXPECT_EQ(format_duration(100h + 1s), "100:00:01");
    EXPECT_EQ(format_duration(1ms), "00:00:01");
    EXPECT_EQ(format_duration(2001ms), "00:00:03");
}

}  // namespace
}  // namespace protocol
