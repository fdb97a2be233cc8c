#include "tests/protocol/support/session_pair.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace protocol {
namespace {

using namespace std::chrono_literals;
using test::SessionPair;

// As the owner of a session does it: every limits::tick, the last time at `end`.
Result<void> tick_until(Session& session, TimePoint from, TimePoint end) {
    Result<void> ticked;
    for (TimePoint at = from; ticked && at < end;) {
        at = std::min<TimePoint>(at + limits::tick, end);
        ticked = session.tick(at);
    }
    return ticked;
}

TEST(SessionTime, GivesUpOnAGuestThatDoesNotAnswer) {
    SessionPair pair;
    EXPECT_TRUE(tick_until(pair.host, pair.now, pair.now + limits::handshake - 1ms));
    const auto ticked = pair.host.tick(pair.now + limits::handshake);
    ASSERT_FALSE(ticked);
    EXPECT_EQ(ticked.error().kind(), Kind::timed_out);
    EXPECT_FALSE(pair.host.feed("x", pair.now)) << "a failed session stays failed";
}

TEST(SessionTime, GivesUpOnAGuestThatOnlySendsNoise) {
    SessionPair pair;
    for (auto at = 0s; at < limits::handshake; at += 1s) {
        EXPECT_TRUE(pair.host.feed("noise", pair.now + at));
    }
    EXPECT_FALSE(tick_until(pair.host, pair.now, pair.now + limits::handshake));
}

TEST(SessionTime, LetsAGuestWaitForItsHostForEver) {
    SessionPair pair;
    EXPECT_TRUE(pair.guest.tick(pair.now + 24h));
    EXPECT_EQ(pair.guest.output(), "");
}

TEST(SessionTime, PingsAPeerThatIsSilentAndHearsItsAnswer) {
    SessionPair pair;
    pair.connect();
    for (int round = 0; round < 20; ++round) {
        pair.now += limits::ping_idle;
        ASSERT_TRUE(pair.host.tick(pair.now));
        EXPECT_FALSE(pair.host.output().empty());
        pair.settle();
    }
    EXPECT_TRUE(pair.host.tick(pair.now + limits::ping_idle - 1ms));
    EXPECT_EQ(pair.host.output(), "");
}

TEST(SessionTime, PingsOncePerIdleTime) {
    SessionPair pair;
    pair.connect();
    ASSERT_TRUE(pair.host.tick(pair.now + limits::ping_idle));
    const std::size_t one = pair.host.queued_bytes();
    ASSERT_TRUE(pair.host.tick(pair.now + limits::ping_idle + 1s));
    EXPECT_EQ(pair.host.queued_bytes(), one);
}

TEST(SessionTime, ClosesAfterTooLongASilence) {
    SessionPair pair;
    pair.connect();
    for (Session* side : {&pair.host, &pair.guest}) {
        EXPECT_TRUE(tick_until(*side, pair.now, pair.now + limits::silence - 1ms));
        const auto ticked = side->tick(pair.now + limits::silence);
        ASSERT_FALSE(ticked);
        EXPECT_EQ(ticked.error().kind(), Kind::timed_out);
    }
}

// The loop stood still: the peer's bytes are there, but nobody has read them yet.
TEST(SessionTime, DoesNotBlameThePeerForALateTick) {
    SessionPair pair;
    pair.connect();
    const TimePoint late = pair.now + 2 * limits::silence;
    for (Session* side : {&pair.host, &pair.guest}) {
        EXPECT_TRUE(side->tick(late));
        EXPECT_FALSE(side->output().empty()) << "a ping asks whether it is still there";
    }
    pair.now = late;
    pair.settle();
    EXPECT_TRUE(tick_until(pair.host, late, late + limits::ping_idle));

    SessionPair greeting;
    EXPECT_TRUE(greeting.host.tick(greeting.now + 2 * limits::handshake));
}

TEST(SessionTime, ClosesAfterTooLongASilenceAlsoWhenEachTickIsLate) {
    SessionPair pair;
    pair.connect();
    int ticks = 0;
    while (ticks < 100 && pair.host.tick(pair.now + ++ticks * limits::silence)) {
    }
    EXPECT_EQ(ticks, (limits::silence + limits::longest_tick - 1s) / limits::longest_tick);
}

}  // namespace
}  // namespace protocol
