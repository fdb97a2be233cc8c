// What a peer may not do. Each breach fails feed() and leaves a `bye` with the reason to be sent.

#include "tests/protocol/support/session_pair.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace protocol {
namespace {

using test::make_credit;
using test::make_data;
using test::make_frame;
using test::RawPeer;
using testing::HasSubstr;

// Feeds frames that are fine, then one that is not.
void expect_violation(Role role, const std::vector<Frame>& fine, const Frame& wrong,
                      const char* reason) {
    RawPeer peer(role);
    for (const Frame& frame : fine) ASSERT_EQ(peer.feed(frame), "") << reason;
    EXPECT_THAT(peer.feed(wrong), HasSubstr(reason));
    EXPECT_FALSE(peer.session.ready());
    EXPECT_FALSE(peer.session.feed("", peer.now));
    const auto sent = peer.sent();
    ASSERT_FALSE(sent.empty());
    EXPECT_EQ(sent.back().kind, FrameKind::bye);
    EXPECT_THAT(sent.back().payload, HasSubstr(reason));
}

const Frame open_2 = make_frame(FrameKind::open, 2);

TEST(Violation, DataBeyondCredit) {
    std::vector<Frame> fine = {open_2};
    const std::string full(limits::data_payload_bytes, 'x');
    for (std::size_t sent = 0; sent < limits::window_bytes; sent += full.size()) {
        fine.push_back(make_data(2, Channel::input, full));
    }
    expect_violation(Role::guest, fine, make_data(2, Channel::input, "x"), "data beyond credit");
}

TEST(Violation, DataAfterHalfClose) {
    expect_violation(Role::guest, {open_2, make_data(2, Channel::input, "x", true)},
                     make_data(2, Channel::input, "y"), "data after half-close");
    expect_violation(Role::guest, {open_2, make_data(2, Channel::input, "", true)},
                     make_data(2, Channel::input, "", true), "data after half-close");
}

TEST(Violation, FramesOfAStreamThatWasNeverOpened) {
    expect_violation(Role::guest, {open_2}, make_data(4, Channel::input, "x"), "never opened");
    expect_violation(Role::guest, {}, make_frame(FrameKind::event, 2), "never opened");
    expect_violation(Role::guest, {}, make_frame(FrameKind::reset, 2, ""), "never opened");
    expect_violation(Role::guest, {}, make_credit(1, Channel::input, 1), "never opened");
    expect_violation(Role::host, {}, make_frame(FrameKind::end, 2), "never opened");
}

TEST(Violation, IdsThatDoNotIncrease) {
    expect_violation(Role::guest, {make_frame(FrameKind::open, 4)}, open_2, "must increase");
    expect_violation(Role::guest, {open_2}, open_2, "must increase");
}

TEST(Violation, IdsOfTheOtherSide) {
    expect_violation(Role::guest, {}, make_frame(FrameKind::open, 1), "not the peer's to open");
    expect_violation(Role::host, {}, open_2, "not the peer's to open");
}

TEST(Violation, EndAndResetFromTheWrongSide) {
    expect_violation(Role::guest, {open_2}, make_frame(FrameKind::end, 2),
                     "end from the side that opened");
    expect_violation(Role::guest, {}, make_frame(FrameKind::reset, 1, ""), "reset from the side");
}

TEST(Violation, MoreStreamsThanTheRoleMayOpen) {
    std::vector<Frame> fine;
    for (std::uint32_t i = 0; i < limits::guest_streams; ++i) {
        fine.push_back(make_frame(FrameKind::open, 2 * i + 1));
    }
    expect_violation(Role::host, fine, make_frame(FrameKind::open, 2 * limits::guest_streams + 1),
                     "too many streams");
}

TEST(Violation, CreditBeyondTheWindow) {
    expect_violation(Role::guest, {open_2}, make_credit(2, Channel::output, 1), "credit beyond");
    expect_violation(Role::guest, {open_2}, make_credit(2, Channel::output, 0xFFFFFFFF),
                     "credit beyond");
    expect_violation(Role::guest, {open_2}, make_credit(2, Channel::output, 0), "credit beyond");
}

TEST(Violation, ControlPayloadsThatAreNotAnObjectOfJson) {
    for (const FrameKind kind : {FrameKind::open, FrameKind::event}) {
        const std::uint32_t id = kind == FrameKind::open ? 2 : 0;
        expect_violation(Role::guest, {}, make_frame(kind, id, "[]"), "not a JSON object");
        expect_violation(Role::guest, {},
                         make_frame(kind, id,
                                    "{} "
                                    "x"),
                         "control payload");
        expect_violation(Role::guest, {}, make_frame(kind, id, "{\"a\":\"\xFF\"}"),
                         "control payload");
        expect_violation(Role::guest, {}, make_frame(kind, id, R"({"a":1,"a":1})"), "repeated");
        expect_violation(Role::guest, {}, make_frame(kind, id, std::string(100, '[')),
                         "control payload");
    }
    expect_violation(Role::guest, {}, make_frame(FrameKind::bye, 0, "\"x\""), "not a JSON object");
}

TEST(Violation, ASecondHello) {
    expect_violation(Role::guest, {}, make_frame(FrameKind::hello, 0), "a second hello");
    expect_violation(Role::host, {}, make_frame(FrameKind::hello, 0), "a second hello");
}

TEST(Violation, AnythingBeforeHello) {
    for (const Role role : {Role::host, Role::guest}) {
        Session session(role, "{}", test::sample_nonce, {});
        std::string bytes = encode_preamble(test::sample_nonce);
        encode_frame(make_frame(FrameKind::ping, 0, "12345678"), bytes);
        const auto fed = session.feed(bytes, {});
        ASSERT_FALSE(fed);
        EXPECT_THAT(fed.error().message(), HasSubstr("first frame is not hello"));
    }
}

TEST(Violation, FramesAfterReset) {
    const std::vector<Frame> fine = {open_2, make_frame(FrameKind::reset, 2, "")};
    expect_violation(Role::guest, fine, make_data(2, Channel::input, "x"), "after the reset");
    expect_violation(Role::guest, fine, make_frame(FrameKind::event, 2), "after the reset");
    expect_violation(Role::guest, fine, make_frame(FrameKind::reset, 2, ""), "after the reset");
    expect_violation(Role::guest, fine, make_credit(2, Channel::output, 1), "after the reset");
}

TEST(Violation, FramesAfterTheEndOfTheirStream) {
    RawPeer peer(Role::host);
    ASSERT_TRUE(peer.session.open("{}"));
    ASSERT_EQ(peer.feed(make_frame(FrameKind::end, 2)), "");
    EXPECT_THAT(peer.feed(make_data(2, Channel::output, "x")), HasSubstr("after the end"));

    RawPeer twice(Role::host);
    ASSERT_TRUE(twice.session.open("{}"));
    ASSERT_EQ(twice.feed(make_frame(FrameKind::end, 2)), "");
    EXPECT_THAT(twice.feed(make_frame(FrameKind::end, 2)), HasSubstr("after the end"));
    EXPECT_EQ(test::take<StreamEnded>(twice.events).size(), 1u);
}

TEST(Violation, OpenAfterBye) {
    expect_violation(Role::guest, {make_frame(FrameKind::bye, 0)}, open_2, "after bye");
}

TEST(Violation, BytesThatAreNoFrame) {
    RawPeer host(Role::host);
    EXPECT_THAT(host.feed(std::string(12, '\xFF')), HasSubstr("unknown frame kind"));
    RawPeer guest(Role::guest);
    EXPECT_THAT(guest.feed("\xCAxxxxxxx"), HasSubstr("neither frame nor preamble"));
    // Only a guest is restarted by a preamble; a guest that sends one to its host is wrong.
    RawPeer restarting(Role::host);
    EXPECT_NE(restarting.feed(encode_preamble(test::sample_nonce)), "");
}

TEST(Violation, DropsWhateverElseWasQueued) {
    RawPeer peer(Role::guest);
    ASSERT_EQ(peer.feed(open_2), "");
    peer.session.send_data(StreamId{2}, Channel::output, std::string(limits::window_bytes, 'x'),
                           false);
    EXPECT_NE(peer.feed(open_2), "");
    const auto sent = peer.sent();
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].kind, FrameKind::bye);
    EXPECT_FALSE(peer.session.open("{}"));
    EXPECT_EQ(peer.session.send_data(StreamId{2}, Channel::output, "x", false), 0u);
    EXPECT_FALSE(peer.session.send_event(StreamId::connection, "{}"));
}

}  // namespace
}  // namespace protocol
