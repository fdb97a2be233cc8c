#include "host/api/target.hpp"

#include <gmock/gmock.h>

namespace host::api {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Target, TakesApartPathAndQuery) {
    const auto target = parse_target("/v1/runs/%61b?wait=30s&until=a%20b&x");
    ASSERT_TRUE(target);
    EXPECT_THAT(target->segments, ElementsAre("v1", "runs", "ab"));
    EXPECT_EQ(*target->parameter("wait"), "30s");
    EXPECT_EQ(*target->parameter("until"), "a b");
    EXPECT_EQ(*target->parameter("x"), "");
    EXPECT_EQ(target->parameter("y"), nullptr);
}

TEST(Target, AcceptsASlashAtTheEnd) {
    EXPECT_THAT(parse_target("/")->segments, IsEmpty());
    EXPECT_THAT(parse_target("/a/")->segments, ElementsAre("a"));
}

TEST(Target, KeepsBytesThatAreNoText) {
    EXPECT_THAT(parse_target("/a%FFb")->segments, ElementsAre("a\xFF"
                                                              "b"));
    EXPECT_THAT(parse_target("/a+b%2B")->segments, ElementsAre("a+b+"));
}

TEST(Target, RefusesWhatWouldLeaveThePath) {
    for (const char* text : {"/a/../b", "/..", "/.", "/a/./b", "/%2e%2e", "/%2E%2e/x", "/a/%2e",
                             "/a%2fb", "/a%2F", "/%2f", "/a%00", "//a", "/a//b", "/a//"}) {
        EXPECT_FALSE(parse_target(text)) << text;
    }
}

TEST(Target, RefusesMalformedOnes) {
    for (const char* text :
         {"", "a", "*", "http://x/y", "/%", "/%4", "/%zz", "/a b", "/a\x7F", "/\xC3\xA9", "/a#b",
          "/a?b=%", "/a?=b", "/a?b=1&b=2", "/a?b=%FF", "/a?&"}) {
        EXPECT_FALSE(parse_target(text)) << text;
    }
}

}  // namespace
}  // namespace host::api
