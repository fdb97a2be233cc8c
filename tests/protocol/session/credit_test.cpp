#include "tests/protocol/support/session_pair.hpp"

#include <gtest/gtest.h>

namespace protocol {
namespace {

using test::SessionPair;
using test::take;

constexpr std::size_t window = limits::window_bytes;

std::size_t bytes_of(const std::vector<StreamData>& pieces) {
    std::size_t bytes = 0;
    for (const StreamData& piece : pieces) bytes += piece.bytes.size();
    return bytes;
}

TEST(Credit, EndsAtTheWindowUntilTheConsumerHasTakenSome) {
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.open_from_host();
    const std::string offered(window + 1000, 'x');
    EXPECT_EQ(pair.guest.send_data(stream, Channel::output, offered, true), window);
    EXPECT_EQ(pair.guest.sendable(stream, Channel::output), 0u);
    pair.settle();
    EXPECT_EQ(bytes_of(take<StreamData>(pair.host_events)), window);
    EXPECT_TRUE(take<StreamWritable>(pair.guest_events).empty());

    pair.host.consumed(stream, Channel::output, limits::credit_step_bytes - 1);
    EXPECT_EQ(pair.host.output(), "") << "credit goes back in steps";
    pair.host.consumed(stream, Channel::output, 1);
    pair.settle();
    EXPECT_EQ(take<StreamWritable>(pair.guest_events).size(), 1u);
    EXPECT_EQ(pair.guest.sendable(stream, Channel::output), limits::credit_step_bytes);
    EXPECT_EQ(pair.guest.send_data(stream, Channel::output, offered.substr(window), true), 1000u);
    pair.settle();
    const auto rest = take<StreamData>(pair.host_events);
    EXPECT_EQ(bytes_of(rest), 1000u);
    EXPECT_TRUE(rest.back().last);
}

TEST(Credit, IsCountedForEachChannelAndStream) {
    SessionPair pair;
    pair.connect();
    const StreamId one = pair.open_from_host();
    const StreamId two = pair.open_from_host();
    const std::string full(window, 'x');
    EXPECT_EQ(pair.guest.send_data(one, Channel::output, full, false), window);
    EXPECT_EQ(pair.guest.sendable(one, Channel::error), window);
    EXPECT_EQ(pair.guest.sendable(two, Channel::output), window);
    EXPECT_EQ(pair.host.sendable(one, Channel::output), window);
}

TEST(Credit, IsNotNeededToHalfClose) {
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.open_from_host();
    pair.guest.send_data(stream, Channel::output, std::string(window, 'x'), false);
    EXPECT_EQ(pair.guest.send_data(stream, Channel::output, "", true), 0u);
    pair.settle();
    EXPECT_TRUE(take<StreamData>(pair.host_events).back().last);
    EXPECT_EQ(pair.guest.send_data(stream, Channel::output, "x", false), 0u);
    EXPECT_EQ(pair.guest.sendable(stream, Channel::output), 0u);
}

TEST(Credit, HalfClosesOnlyWhatHasBeenTakenWhole) {
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.open_from_host();
    EXPECT_EQ(pair.guest.send_data(stream, Channel::output, std::string(window + 1, 'x'), true),
              window);
    pair.settle();
    EXPECT_FALSE(take<StreamData>(pair.host_events).back().last);
}

TEST(Credit, LetsALongTransferThrough) {
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.open_from_host();
    const std::size_t total = 10 * window + 12'345;
    std::size_t sent = 0, received = 0;
    bool closed = false;
    while (!closed) {
        const std::string piece(std::min<std::size_t>(40'000, total - sent), 'x');
        const bool is_last = sent + piece.size() == total;
        const std::size_t taken = pair.guest.send_data(stream, Channel::output, piece, is_last);
        sent += taken;
        pair.settle();
        std::size_t moved = 0;
        for (const StreamData& data : take<StreamData>(pair.host_events)) {
            moved += data.bytes.size();
            closed = closed || data.last;
        }
        pair.host.consumed(stream, Channel::output, moved);
        received += moved;
        pair.settle();
        ASSERT_TRUE(taken > 0 || moved > 0 || closed) << "stuck at " << sent;
    }
    EXPECT_EQ(received, total);
    EXPECT_FALSE(pair.host_failure);
    EXPECT_FALSE(pair.guest_failure);
}

TEST(Credit, IgnoresAConsumerThatClaimsMoreThanItGot) {
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.open_from_host();
    pair.guest.send_data(stream, Channel::output, std::string(limits::credit_step_bytes, 'x'),
                         false);
    pair.settle();
    pair.host.consumed(stream, Channel::output, 10 * window);
    pair.settle();
    EXPECT_FALSE(pair.guest_failure);
    EXPECT_EQ(pair.guest.sendable(stream, Channel::output), window);
}

TEST(DataQueue, TakesNoMoreThanItsLimitWhateverTheStreams) {
    SessionPair pair;
    pair.connect();
    const std::string full(window, 'x');
    std::size_t taken = 0;
    std::vector<StreamId> streams;
    for (int i = 0; i < 20; ++i) streams.push_back(pair.open_from_host());
    for (const StreamId stream : streams) {
        taken += pair.guest.send_data(stream, Channel::output, full, false);
    }
    EXPECT_EQ(taken, limits::data_queue_bytes);
    EXPECT_LE(pair.guest.queued_bytes(), limits::data_queue_bytes + 1000);

    // Nobody starves: each stream gets its turn although the first ones always want more.
    std::map<StreamId, std::size_t> received;
    for (int round = 0; round < 2000 && received.size() < streams.size(); ++round) {
        test::carry(pair.guest, pair.host, 10'000, pair.now);
        test::collect(pair.guest, pair.guest_events);
        test::collect(pair.host, pair.host_events);
        for (const StreamData& data : take<StreamData>(pair.host_events)) {
            received[data.stream] += data.bytes.size();
            pair.host.consumed(data.stream, data.channel, data.bytes.size());
        }
        for (const StreamWritable& writable : take<StreamWritable>(pair.guest_events)) {
            pair.guest.send_data(writable.stream, writable.channel, full, false);
        }
        test::carry(pair.host, pair.guest, 10'000, pair.now);
        ASSERT_LE(pair.guest.queued_bytes(), limits::data_queue_bytes + 200'000);
    }
    EXPECT_EQ(received.size(), streams.size());
}

TEST(Memory, IsBoundedWhenAHostileGuestFillsEveryWindow) {
    SessionPair pair;
    pair.connect();
    const std::string full(window, 'x');
    std::size_t expected = 0;
    for (std::uint32_t i = 0; i < limits::guest_streams; ++i) {
        const StreamId stream = pair.guest.open("{}").value();
        for (const Channel channel : {Channel::input, Channel::output, Channel::error}) {
            ASSERT_EQ(pair.guest.send_data(stream, channel, full, false), window);
            while (test::carry(pair.guest, pair.host, 1u << 20, pair.now) > 0) {
            }
            expected += window;
        }
    }
    // Every byte the guest was ever allowed to send, unread, and next to nothing besides.
    EXPECT_GE(pair.host.queued_bytes(), expected);
    EXPECT_LE(pair.host.queued_bytes(), std::size_t{limits::guest_streams} * 3 * window + 200'000);
}

TEST(Memory, IsBoundedWhenThePeerDoesNotRead) {
    test::RawPeer peer(Role::host);
    std::string failure;
    std::size_t most = 0;
    for (int i = 0; i < 2'000'000 && failure.empty(); ++i) {
        failure = peer.feed(test::make_frame(FrameKind::ping, 0, "12345678"));
        most = std::max(most, peer.session.queued_bytes());
    }
    EXPECT_EQ(failure, "the peer does not read the host link");
    EXPECT_LE(most, limits::control_queue_bytes + 1000);
    EXPECT_LE(peer.session.queued_bytes(), 1000u) << "nothing is kept for it";
}

// What a transport has moved by itself counts as if it had been sent here.
TEST(Credit, IsUsedByWhatTheTransportMoves) {
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.open_from_host();
    pair.settle();
    ASSERT_TRUE(pair.guest.idle());
    // Two frames, of which all but the last three bytes have gone already.
    Frame frame;
    frame.kind = FrameKind::data;
    frame.stream = stream;
    frame.channel = Channel::output;
    frame.payload = "moved";
    std::string encoded;
    encode_frame(frame, encoded);
    encode_frame(frame, encoded);
    ASSERT_TRUE(pair.host.feed(encoded.substr(0, encoded.size() - 3), pair.now));
    pair.guest.send_event(stream, "{}");
    pair.guest.moved(stream, Channel::output, 10, encoded.substr(encoded.size() - 3));
    EXPECT_FALSE(pair.guest.idle());
    EXPECT_EQ(pair.guest.sendable(stream, Channel::output), window - 10);
    pair.settle();
    EXPECT_EQ(bytes_of(take<StreamData>(pair.host_events)), 10u);
    EXPECT_EQ(take<StreamEvent>(pair.host_events).size(), 1u) << "after the rest of the frame";
}

TEST(Credit, CanBeAwaitedWithNothingToOffer) {
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.open_from_host();
    pair.guest.send_data(stream, Channel::output, std::string(window, 'x'), false);
    pair.settle();
    take<StreamWritable>(pair.guest_events);
    pair.guest.await_credit(stream, Channel::output);
    pair.guest.await_credit(stream, Channel::output);
    pair.host.consumed(stream, Channel::output, window);
    pair.settle();
    EXPECT_EQ(take<StreamWritable>(pair.guest_events).size(), 1u);
}

TEST(Credit, CanBeMoreWhereBothSidesAgree) {
    constexpr std::uint32_t wide = 2 * window;
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.open_from_host();
    pair.host.widen(stream, Channel::output, wide);
    pair.guest.widen(stream, Channel::output, wide);
    const std::string plenty(2 * wide, 'x');
    EXPECT_EQ(pair.guest.send_data(stream, Channel::output, plenty, false), wide);
    EXPECT_EQ(pair.guest.sendable(stream, Channel::error), window) << "the other channel is not";
    pair.settle();
    EXPECT_EQ(bytes_of(take<StreamData>(pair.host_events)), wide);
    pair.host.consumed(stream, Channel::output, wide / 2 - 1);
    EXPECT_EQ(pair.host.output(), "") << "credit goes back in steps of half a window";
    pair.host.consumed(stream, Channel::output, wide);
    pair.settle();
    EXPECT_EQ(pair.guest.sendable(stream, Channel::output), wide);
    EXPECT_FALSE(pair.guest_failure || pair.host_failure);
}

// A sender that knows nothing of wider windows uses what it has, and gets it back.
TEST(Credit, OfAWideWindowServesASenderThatDoesNotKnowIt) {
    SessionPair pair;
    pair.connect();
    const StreamId stream = pair.open_from_host();
    pair.host.widen(stream, Channel::output, limits::unsaid_follow_window_bytes);
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(pair.guest.send_data(stream, Channel::output, std::string(window, 'x'), false),
                  window);
        pair.settle();
        EXPECT_EQ(bytes_of(take<StreamData>(pair.host_events)), window);
        pair.host.consumed(stream, Channel::output, window);
        pair.settle();
    }
    EXPECT_FALSE(pair.guest_failure || pair.host_failure);
}

}  // namespace
}  // namespace protocol
