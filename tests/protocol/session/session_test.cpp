#include "protocol/session/session.hpp"

#include "tests/protocol/support/session_pair.hpp"

#include <gtest/gtest.h>

namespace protocol {
namespace {

using test::SessionPair;
using test::take;

TEST(Session, GreetsAndTellsBothSidesThePeersHello) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
        SessionPair pair;
        pair.settle(piece);
        EXPECT_TRUE(pair.host.ready());
        EXPECT_TRUE(pair.guest.ready());
        EXPECT_EQ(take<PeerReady>(pair.host_events).at(0).hello, R"({"software":"guest"})");
        EXPECT_EQ(take<PeerReady>(pair.guest_events).at(0).hello, R"({"software":"host"})");
    }
}

TEST(Session, StartsWithMagicAndNonce) {
    SessionPair pair;
    EXPECT_EQ(pair.host.output().substr(0, preamble_bytes),
              std::string_view("\xCAPSLINK1\1\2\3\4\5\6\7\x8"));
    EXPECT_EQ(pair.guest.output(), "");
}

TEST(Session, GivesEvenIdsToTheHostAndOddOnesToTheGuest) {
    SessionPair pair;
    pair.connect();
    EXPECT_EQ(pair.host.open("{}").value(), StreamId{2});
    EXPECT_EQ(pair.host.open("{}").value(), StreamId{4});
    EXPECT_EQ(pair.guest.open("{}").value(), StreamId{1});
    EXPECT_EQ(pair.guest.open("{}").value(), StreamId{3});
}

TEST(Session, NeverReusesAnId) {
    SessionPair pair;
    pair.connect();
    const StreamId first = pair.open_from_host();
    pair.guest.end(first, "{}");
    pair.settle();
    EXPECT_EQ(take<StreamEnded>(pair.host_events).size(), 1u);
    EXPECT_EQ(pair.host.streams_open(), 0u);
    EXPECT_GT(pair.host.open("{}").value(), first);
}

TEST(Session, CarriesEventsDataAndTheEndOfAStream) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, std::size_t{1000}}) {
        SessionPair pair;
        pair.connect();
        const StreamId stream = pair.host.open(R"({"operation":"x"})").value();
        pair.settle(piece);
        EXPECT_EQ(take<StreamOpened>(pair.guest_events).at(0).request, R"({"operation":"x"})");

        EXPECT_TRUE(pair.host.send_event(stream, R"({"event":"up"})"));
        EXPECT_EQ(pair.host.send_data(stream, Channel::input, "in", true), 2u);
        pair.settle(piece);
        EXPECT_TRUE(pair.guest.send_event(stream, R"({"event":"down"})"));
        EXPECT_EQ(pair.guest.send_data(stream, Channel::output, std::string("o\0t", 3), false), 3u);
        pair.guest.end(stream, R"({"ok":{}})");
        pair.settle(piece);

        EXPECT_EQ(take<StreamEvent>(pair.guest_events).at(0).payload, R"({"event":"up"})");
        const auto input = take<StreamData>(pair.guest_events).at(0);
        EXPECT_EQ(input.bytes, "in");
        EXPECT_EQ(input.channel, Channel::input);
        EXPECT_TRUE(input.last);

        ASSERT_EQ(pair.host_events.size(), 3u);
        EXPECT_EQ(std::get<StreamEvent>(pair.host_events[0]).payload, R"({"event":"down"})");
        EXPECT_EQ(std::get<StreamData>(pair.host_events[1]).bytes, std::string("o\0t", 3));
        EXPECT_EQ(std::get<StreamEnded>(pair.host_events[2]).payload, R"({"ok":{}})");
    }
}

TEST(Session, CarriesNoticesOfTheConnection) {
    SessionPair pair;
    pair.connect();
    EXPECT_TRUE(pair.guest.send_event(StreamId::connection, R"({"event":"power"})"));
    pair.settle();
    const auto notice = take<StreamEvent>(pair.host_events).at(0);
    EXPECT_EQ(notice.stream, StreamId::connection);
    EXPECT_EQ(notice.payload, R"({"event":"power"})");
}

TEST(Session, IgnoresCallsForStreamsThatAreGone) {
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.open_from_host();
    pair.guest.end(stream, "{}");
    pair.guest.end(stream, R"({"ok":"twice"})");
    pair.settle();
    EXPECT_EQ(take<StreamEnded>(pair.host_events).size(), 1u);
    for (Session* side : {&pair.host, &pair.guest}) {
        EXPECT_FALSE(side->send_event(stream, "{}"));
        EXPECT_EQ(side->send_data(stream, Channel::input, "x", true), 0u);
        EXPECT_EQ(side->sendable(stream, Channel::input), 0u);
        side->consumed(stream, Channel::input, 100'000);
        side->end(stream, "{}");
        side->reset(stream);
        EXPECT_EQ(side->output(), "");
    }
}

TEST(Session, OnlyTheAcceptorEndsAndOnlyTheOpenerResets) {
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.open_from_host();
    pair.host.end(stream, "{}");
    pair.guest.reset(stream);
    EXPECT_EQ(pair.host.output(), "");
    EXPECT_EQ(pair.guest.output(), "");
}

TEST(Session, RefusesToOpenBeforeTheHandshakeAndAfterBye) {
    SessionPair pair;
    EXPECT_EQ(pair.host.open("{}").error().kind(), Kind::unavailable);
    EXPECT_EQ(pair.guest.open("{}").error().kind(), Kind::unavailable);
    pair.connect();
    pair.guest.bye("shutting down");
    EXPECT_EQ(pair.guest.open("{}").error().kind(), Kind::unavailable);
    pair.settle();
    EXPECT_EQ(take<PeerBye>(pair.host_events).at(0).reason, "shutting down");
    EXPECT_EQ(pair.host.open("{}").error().kind(), Kind::unavailable);
}

TEST(Session, AcceptsAnOpenThatCrossesItsBye) {
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.host.open("{}").value();
    EXPECT_EQ(pair.host.send_data(stream, Channel::input, "x", true), 1u);
    pair.guest.bye("crossing");
    pair.settle();
    EXPECT_FALSE(pair.guest_failure);
    EXPECT_TRUE(take<StreamOpened>(pair.guest_events).empty());
}

TEST(Session, LimitsTheStreamsOfEachRole) {
    SessionPair pair;
    pair.connect();
    for (std::uint32_t i = 0; i < limits::host_streams; ++i) ASSERT_TRUE(pair.host.open("{}"));
    EXPECT_EQ(pair.host.open("{}").error().kind(), Kind::resource_exhausted);
    for (std::uint32_t i = 0; i < limits::guest_streams; ++i) ASSERT_TRUE(pair.guest.open("{}"));
    EXPECT_EQ(pair.guest.open("{}").error().kind(), Kind::resource_exhausted);
    pair.settle();
    EXPECT_FALSE(pair.host_failure);
    EXPECT_FALSE(pair.guest_failure);

    pair.host.end(StreamId{1}, "{}");
    pair.settle();
    EXPECT_TRUE(pair.guest.open("{}"));
    pair.settle();
    EXPECT_FALSE(pair.host_failure);
}

TEST(Session, RefusesPayloadsThatFitNoFrame) {
    SessionPair pair;
    pair.connect();
    const std::string huge(limits::control_payload_bytes + 1, 'x');
    EXPECT_EQ(pair.host.open(huge).error().kind(), Kind::too_large);
    const StreamId stream = pair.open_from_host();
    EXPECT_FALSE(pair.guest.send_event(stream, huge));
    pair.guest.end(stream, huge);
    pair.settle();
    EXPECT_NE(take<StreamEnded>(pair.host_events).at(0).payload.find("too_large"),
              std::string::npos);
}

TEST(Session, DropsWhatComesAfterAReset) {
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.open_from_host();
    pair.guest.send_data(stream, Channel::output, "crosses the reset", false);
    pair.guest.send_event(stream, "{}");
    pair.host.send_data(stream, Channel::input, "never leaves", false);
    pair.host.reset(stream);
    pair.host.reset(stream);
    pair.settle();
    EXPECT_EQ(take<StreamReset>(pair.guest_events).size(), 1u);
    EXPECT_TRUE(pair.guest_events.empty());
    EXPECT_TRUE(pair.host_events.empty());
    EXPECT_EQ(pair.guest.send_data(stream, Channel::output, "x", false), 0u);

    pair.guest.end(stream, R"({"ok":{}})");
    pair.settle();
    EXPECT_EQ(take<StreamEnded>(pair.host_events).at(0).payload, R"({"ok":{}})");
    EXPECT_FALSE(pair.host_failure);
    EXPECT_FALSE(pair.guest_failure);
}

TEST(Session, SendsTheEndAtOnceWhenAResetMeetsIt) {
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.open_from_host();
    pair.guest.send_data(stream, Channel::output, std::string(limits::window_bytes, 'x'), false);
    pair.guest.end(stream, "{}");
    pair.host.reset(stream);
    while (test::carry(pair.host, pair.guest, 1000, pair.now, &pair.guest_failure) > 0) {
    }
    EXPECT_LT(pair.guest.queued_bytes(), 100u);  // the data is gone, the end is not
    pair.settle();
    EXPECT_EQ(take<StreamEnded>(pair.host_events).size(), 1u);
    EXPECT_TRUE(pair.guest_events.empty());
    EXPECT_FALSE(pair.guest_failure);
}

TEST(Session, IgnoresFramesThatCrossItsEnd) {
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.open_from_host();
    pair.guest.send_data(stream, Channel::output, std::string(100'000, 'x'), false);
    pair.settle();
    // All of this is on its way when the guest ends the stream.
    pair.host.send_data(stream, Channel::input, "late", true);
    pair.host.send_event(stream, "{}");
    pair.host.consumed(stream, Channel::output, 100'000);
    pair.host.reset(stream);
    pair.guest.end(stream, "{}");
    pair.settle(3);
    EXPECT_FALSE(pair.guest_failure);
    EXPECT_TRUE(pair.guest_events.empty());
    EXPECT_EQ(take<StreamEnded>(pair.host_events).size(), 1u);
}

}  // namespace
}  // namespace protocol
