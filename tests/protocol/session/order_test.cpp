// The order in which frames leave a session.

#include "tests/protocol/support/session_pair.hpp"

#include <gtest/gtest.h>

namespace protocol {
namespace {

using test::make_frame;
using test::RawPeer;

// A guest with `count` streams that a raw host has opened: ids 2, 4, ...
RawPeer guest_with_streams(std::uint32_t count) {
    RawPeer peer(Role::guest);
    for (std::uint32_t i = 1; i <= count; ++i) {
        EXPECT_EQ(peer.feed(make_frame(FrameKind::open, 2 * i)), "");
    }
    return peer;
}

TEST(SendOrder, ServesStreamsInTurnWithFramesThatFillAWrite) {
    RawPeer peer = guest_with_streams(3);
    constexpr std::size_t payload = limits::write_bytes - limits::header_bytes;
    const std::string much(3 * payload + 1, 'x');
    for (const std::uint32_t id : {2u, 4u, 6u}) {
        peer.session.send_data(StreamId{id}, Channel::output, much, false);
    }
    std::vector<std::uint32_t> turns;
    for (const Frame& frame : peer.sent()) {
        EXPECT_EQ(frame.payload.size(), turns.size() < 9 ? payload : 1);
        turns.push_back(static_cast<std::uint32_t>(frame.stream));
    }
    EXPECT_EQ(turns, (std::vector<std::uint32_t>{2, 4, 6, 2, 4, 6, 2, 4, 6, 2, 4, 6}));
}

TEST(SendOrder, LetsASmallStreamThroughABulkTransfer) {
    RawPeer peer = guest_with_streams(2);
    peer.session.send_data(StreamId{2}, Channel::output, std::string(limits::window_bytes, 'x'),
                           false);
    peer.session.send_data(StreamId{4}, Channel::output, "prompt$ ", false);
    const auto frames = peer.sent();
    EXPECT_EQ(frames.at(1).payload, "prompt$ ");
}

TEST(SendOrder, PutsControlFramesBeforeTheDataOfOtherStreams) {
    RawPeer peer = guest_with_streams(2);
    peer.session.send_data(StreamId{2}, Channel::output, std::string(limits::window_bytes, 'x'),
                           false);
    peer.session.end(StreamId{4}, R"({"ok":{}})");
    EXPECT_EQ(peer.sent().at(0).kind, FrameKind::end);
}

TEST(SendOrder, KeepsTheOrderInsideAStream) {
    RawPeer peer = guest_with_streams(1);
    const StreamId stream{2};
    peer.session.send_event(stream, R"({"event":"started"})");
    peer.session.send_data(stream, Channel::output, std::string(100'000, 'x'), false);
    peer.session.send_data(stream, Channel::error, "e", false);
    peer.session.send_event(stream, R"({"event":"exited"})");
    peer.session.send_data(stream, Channel::output, "late", true);
    peer.session.end(stream, "{}");
    std::string order;
    for (const Frame& frame : peer.sent()) {
        switch (frame.kind) {
            case FrameKind::event:
                order += frame.payload.find("started") != std::string::npos ? 's' : 'x';
                break;
            case FrameKind::data:
                order += frame.channel == Channel::output ? (frame.last ? 'L' : 'o') : 'e';
                break;
            case FrameKind::end:
                order += '.';
                break;
            case FrameKind::hello:
            case FrameKind::open:
            case FrameKind::credit:
            case FrameKind::reset:
            case FrameKind::ping:
            case FrameKind::pong:
            case FrameKind::bye:
                order += '?';
                break;
        }
    }
    EXPECT_EQ(order, "sooooexL.");
}

TEST(SendOrder, JoinsSmallPiecesOfOneChannel) {
    RawPeer peer = guest_with_streams(1);
    for (int i = 0; i < 100; ++i) {
        peer.session.send_data(StreamId{2}, Channel::output, "line\n", i == 99);
    }
    const auto frames = peer.sent();
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames[0].payload.size(), 500u);
    EXPECT_TRUE(frames[0].last);
}

}  // namespace
}  // namespace protocol
