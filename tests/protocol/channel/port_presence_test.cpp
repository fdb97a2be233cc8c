#include "protocol/channel/port_presence.hpp"

#include <gtest/gtest.h>

namespace protocol {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint start{};

TEST(PortPresence, ZeroIsTheEndOfAHostThatWasThere) {
    PortPresence presence;
    EXPECT_TRUE(presence.read_zero(start)) << "there was nobody yet";
    presence.read_nothing();
    EXPECT_FALSE(presence.away());
    presence.read_bytes(start + 10s);
    EXPECT_TRUE(presence.read_zero(start + 10s)) << "it was known to be there before its bytes";
    EXPECT_TRUE(presence.away());
}

TEST(PortPresence, ZeroRightAfterAHostsFirstBytesIsNotItsEnd) {
    PortPresence presence;
    EXPECT_TRUE(presence.read_zero(start + 1s));
    presence.read_bytes(start + 2s);
    for (auto at = 2s; at < 2s + PortPresence::opening_limit; at += 1s) {
        EXPECT_FALSE(presence.read_zero(start + at));
        EXPECT_TRUE(presence.away()) << "writing must wait";
    }
    presence.read_nothing();  // now the kernel has heard of it
    EXPECT_FALSE(presence.away());
    EXPECT_TRUE(presence.read_zero(start + 10s));
}

TEST(PortPresence, AHostThatGoesRightAfterItCameIsNoticedLater) {
    PortPresence presence;
    presence.read_bytes(start);
    EXPECT_FALSE(presence.read_zero(start + PortPresence::opening_limit - 1ms));
    EXPECT_TRUE(presence.read_zero(start + PortPresence::opening_limit));
}

}  // namespace
}  // namespace protocol
