// A new connection over the same bytes: what earlier ones left must not be taken for it.

#include "tests/protocol/support/session_pair.hpp"

#include <gtest/gtest.h>

namespace protocol {
namespace {

using test::SessionPair;
using test::take;

constexpr Nonce second_nonce = {9, 9, 9, 9, 9, 9, 9, 9};

Session second_host(TimePoint now) {
    return Session(Role::host, R"({"software":"second"})", second_nonce, now);
}

TEST(Restart, GuestDiscardsNoiseBeforeThePreamble) {
    SessionPair pair;
    std::string noise = "some text \xCAPSLIN then \xCAPSLINK";  // almost the magic, twice
    ASSERT_TRUE(pair.guest.feed(noise, pair.now));
    EXPECT_EQ(pair.guest.output(), "");
    pair.settle(1);
    EXPECT_TRUE(pair.guest.ready());
    EXPECT_TRUE(pair.host.ready());
}

TEST(Restart, HostDiscardsWhatWasMeantForAnEarlierOne) {
    SessionPair pair;
    // The answer to another host's preamble, then half a frame.
    std::string old = encode_preamble(second_nonce);
    encode_frame(test::make_frame(FrameKind::hello, 0, R"({"software":"old"})"), old);
    encode_frame(test::make_data(2, Channel::output, "old output"), old);
    ASSERT_TRUE(pair.host.feed(std::string_view(old).substr(0, old.size() - 3), pair.now));
    EXPECT_FALSE(pair.host.ready());
    pair.settle(3);
    EXPECT_TRUE(pair.host.ready());
    EXPECT_EQ(take<PeerReady>(pair.host_events).at(0).hello, R"({"software":"guest"})");
}

TEST(Restart, PreambleAtAFrameBoundaryBeginsANewConnection) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{9}, std::size_t{1000}}) {
        SessionPair pair;
        pair.connect();
        const StreamId stream = pair.open_from_host();
        pair.guest.send_data(stream, Channel::output, "unsent", false);
        pair.guest.send_event(StreamId::connection, "{}");

        Session second = second_host(pair.now);
        while (test::carry(second, pair.guest, piece, pair.now, &pair.guest_failure) > 0) {
        }
        ASSERT_FALSE(pair.guest_failure);
        EXPECT_EQ(pair.guest.streams_open(), 0u);
        EXPECT_EQ(pair.guest.send_data(stream, Channel::output, "x", false), 0u);
        test::collect(pair.guest, pair.guest_events);
        EXPECT_EQ(take<PeerReady>(pair.guest_events).at(0).hello, R"({"software":"second"})");

        while (test::carry(pair.guest, second, piece, pair.now, &pair.host_failure) > 0) {
        }
        ASSERT_FALSE(pair.host_failure);
        EXPECT_TRUE(second.ready());
        test::Events events;
        test::collect(second, events);
        EXPECT_EQ(events.size(), 1u) << "only PeerReady: nothing of the earlier connection";

        // Ids begin anew.
        EXPECT_EQ(second.open("{}").value(), StreamId{2});
        test::carry(second, pair.guest, 1000, pair.now, &pair.guest_failure);
        EXPECT_FALSE(pair.guest_failure);
        EXPECT_EQ(pair.guest.open("{}").value(), StreamId{1});
    }
}

TEST(Restart, DropsUnreadEventsOfTheEarlierConnection) {
    SessionPair pair;
    pair.connect();
    std::string bytes;
    encode_frame(test::make_frame(FrameKind::open, 2), bytes);
    Session second = second_host(pair.now);
    bytes += second.output();
    ASSERT_TRUE(pair.guest.feed(bytes, pair.now));
    test::collect(pair.guest, pair.guest_events);
    EXPECT_TRUE(take<StreamOpened>(pair.guest_events).empty());
    EXPECT_EQ(take<PeerReady>(pair.guest_events).size(), 1u);
}

TEST(Restart, TheNewestOfSeveralPreamblesCounts) {
    SessionPair pair;
    Session third(Role::host, "{}", {3, 3, 3, 3, 3, 3, 3, 3}, pair.now);
    Session second = second_host(pair.now);
    // A host that died right after its hello, then another, then the one that is alive.
    std::string bytes(second.output());
    bytes += third.output();
    ASSERT_TRUE(pair.guest.feed(bytes, pair.now));
    pair.settle();
    EXPECT_TRUE(pair.host.ready());
    EXPECT_FALSE(pair.guest_failure);
}

TEST(Restart, InterruptionForgetsHalfAFrame) {
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.open_from_host();
    pair.guest.send_data(stream, Channel::output, "x", false);
    std::string half;
    encode_frame(test::make_data(2, Channel::input, std::string(1000, 'x')), half);
    ASSERT_TRUE(pair.guest.feed(std::string_view(half).substr(0, 500), pair.now));

    pair.guest.interrupted();
    EXPECT_FALSE(pair.guest.ready());
    EXPECT_EQ(pair.guest.output(), "");
    EXPECT_EQ(pair.guest.queued_bytes(), 0u);
    EXPECT_FALSE(pair.guest.has_events());
    EXPECT_TRUE(pair.guest.tick(pair.now + std::chrono::hours(1)));

    Session second = second_host(pair.now);
    while (test::carry(second, pair.guest, 7, pair.now, &pair.guest_failure) > 0) {
    }
    EXPECT_FALSE(pair.guest_failure);
    EXPECT_TRUE(pair.guest.ready());
}

TEST(Restart, ClearsAByeOfTheEarlierConnection) {
    SessionPair pair;
    pair.connect();
    pair.host.bye("restarting");
    pair.settle();
    Session second = second_host(pair.now);
    while (test::carry(second, pair.guest, 100, pair.now) > 0) {
    }
    EXPECT_TRUE(pair.guest.open("{}"));
}

}  // namespace
}  // namespace protocol
