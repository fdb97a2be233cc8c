// Live output: followers, offsets, holding a command back.

#include "protocol/wire/limits.hpp"
#include "tests/guest-agent/agent_fixture.hpp"

#include <gmock/gmock.h>

namespace guest_agent {
namespace {

using protocol::Channel;
using testing::IsNull;
using testing::NotNull;
namespace operation = protocol::operation;
namespace limits = protocol::limits;

using protocol::EndOfFile;

// Over either transport: a virtio-serial port takes pages, see PageCarrier.
class Follow : public AgentFixture, public testing::WithParamInterface<EndOfFile> {
  protected:
    Follow() : AgentFixture(GetParam()) {}

    bool takes_pages() const { return GetParam() == EndOfFile::polls; }
    // What has been received without credit. Pages are not sent for the last bit of it.
    bool has_used_window(protocol::StreamId stream) {
        const std::size_t left = limits::follow_window_bytes - received(stream);
        return takes_pages() ? left < limits::write_bytes : left == 0;
    }
    protocol::StreamId follow(const std::string& id, bool lossless, std::uint64_t from = 0) {
        protocol::CommandFollow request;
        request.id = id;
        request.lossless = lossless;
        request.output_from = from;
        request.window = limits::follow_window_bytes;
        const auto stream = open(operation::command_follow, request);
        host().link->session().widen(stream, Channel::output, limits::follow_window_bytes);
        return stream;
    }
    std::size_t received(protocol::StreamId stream) {
        return host().log(stream).data[Channel::output].size();
    }
};

// 8 MB, more than ring, window and pipe together.
constexpr char big[] = "head -c 8000000 /dev/zero | tr '\\0' x; echo end >&2";

TEST_P(Follow, SendsBothOutputsThenExitedThenTheEnd) {
    const auto request = shell("echo out; echo err >&2");
    start(request);
    const auto stream = follow(request.id, true);
    ASSERT_TRUE(answer<protocol::Done>(stream));
    auto& log = host().log(stream);
    EXPECT_EQ(log.data[Channel::output], "out\n");
    EXPECT_EQ(log.data[Channel::error], "err\n");
    EXPECT_TRUE(log.closed[Channel::output]);
    EXPECT_TRUE(log.closed[Channel::error]);
    EXPECT_THAT(log.event("exited"), NotNull());
}

TEST_P(Follow, LosslessLosesNothing) {
    auto request = shell(big);
    request.hold_output = true;
    const auto command = start(request);
    const auto stream = follow(request.id, true);
    ASSERT_TRUE(answer<protocol::Done>(stream));
    EXPECT_EQ(received(stream), 8'000'000U);
    EXPECT_EQ(host().log(stream).data[Channel::error], "end\n");
    EXPECT_THAT(host().log(stream).event("gap"), IsNull());
    const auto report = exited(command);
    EXPECT_EQ(report.output.characters, 8'000'000U);
    EXPECT_EQ(report.output.window, std::string(limits::output_window_characters, 'x'));
}

TEST_P(Follow, LosslessHoldsTheCommandBackWithoutCredit) {
    host().give_credit = false;
    const auto request = shell(big);
    const auto command = start(request);
    const auto stream = follow(request.id, true);
    until([&] { return has_used_window(stream); });
    // The command cannot end: window, ring and pipe hold less than it wants to write.
    for (int turn = 0; turn < 20; ++turn) loop_.run_one_for(std::chrono::milliseconds(10));
    EXPECT_THAT(host().log(command).event("exited"), IsNull());
    host().give_credit = true;
    host().link->session().consumed(stream, Channel::output, received(stream));
    host().link->flush();
    ASSERT_TRUE(answer<protocol::Done>(stream));
    EXPECT_EQ(received(stream), 8'000'000U);
    EXPECT_THAT(host().log(stream).event("gap"), IsNull());
}

// Once, whether it is credit that is missing or room in the ring; not once for each.
TEST_P(Follow, LosslessHoldsTheCommandBackForSoLongOnly) {
    host().give_credit = false;
    const auto request = shell(big);
    const auto command = start(request);
    const auto stream = follow(request.id, true);
    until([&] { return host().log(command).event("exited") != nullptr; },
          limits::lossless_hold + std::chrono::seconds(15));
    host().give_credit = true;
    host().link->session().consumed(stream, Channel::output, received(stream));
    host().link->flush();
    ASSERT_TRUE(answer<protocol::Done>(stream));
    EXPECT_THAT(host().log(stream).event("gap"), NotNull());
}

TEST_P(Follow, LosslessLosesNothingOfAPipeThatTheProgramHasEnlarged) {
    host().give_credit = false;
    // As much as agent and pipe can hold, so that it ends with a full pipe.
    const std::size_t all = (1u << 20) + limits::follow_window_bytes +
                            (takes_pages() ? 0 : 64u << 10) -
                            (takes_pages() ? limits::write_bytes : 0);
    auto request = shell("python3", {"-c",
                                     "import fcntl, os, sys\n"
                                     "fcntl.fcntl(1, 1031, 1 << 20)\n"  // F_SETPIPE_SZ
                                     "rest = int(sys.argv[1])\n"
                                     "while rest: rest -= os.write(1, b'x' * rest)",
                                     std::to_string(all)});
    request.hold_output = true;
    const auto command = start(request);
    const auto stream = follow(request.id, true);
    const auto report = exited(command);
    EXPECT_EQ(report.output.bytes, all);
    // The result overtakes what is still on its way to the follower.
    until([&] { return has_used_window(stream); });
    host().give_credit = true;
    host().link->session().consumed(stream, Channel::output, received(stream));
    host().link->flush();
    ASSERT_TRUE(answer<protocol::Done>(stream));
    EXPECT_EQ(received(stream), all);
    EXPECT_THAT(host().log(stream).event("gap"), IsNull());
}

TEST_P(Follow, LosslessLosesNothingWhenAChildRefillsThePipeAtTheEnd) {
    host().give_credit = false;
    // Every write of 4 KiB goes on as soon as the agent has made room, also while it still reads.
    auto request = shell("python3", {"-c",
                                     "import os, time\n"
                                     "if os.fork(): time.sleep(0.5); os._exit(0)\n"
                                     "for _ in range(1000): os.write(1, b'x' * 4096)"});
    request.hold_output = true;
    const auto command = start(request);
    auto stream = follow(request.id, true);
    exited(command);
    disconnect();
    connect();
    // Nothing of the last window had been taken.
    stream = follow(request.id, true, 0);
    ASSERT_TRUE(answer<protocol::Done>(stream));
    EXPECT_EQ(received(stream), 4'096'000U);
    EXPECT_THAT(host().log(stream).event("gap"), IsNull());
}

TEST_P(Follow, HoldOutputWaitsForTheFollower) {
    auto request = shell(big);
    request.hold_output = true;
    const auto command = start(request);
    until([&] { return host().log(command).event("started") != nullptr; });
    for (int turn = 0; turn < 20; ++turn) loop_.run_one_for(std::chrono::milliseconds(10));
    EXPECT_THAT(host().log(command).event("exited"), IsNull());
    ASSERT_TRUE(answer<protocol::Done>(follow(request.id, true)));
}

TEST_P(Follow, OtherFollowersGetAGapInsteadOfHolding) {
    const auto request = shell(big);
    const auto report = run(request);
    EXPECT_EQ(report.output.bytes, 8'000'000U);
    const auto stream = follow(request.id, false);
    ASSERT_TRUE(answer<protocol::Done>(stream));
    const auto* gap = host().log(stream).event("gap");
    ASSERT_THAT(gap, NotNull());
    EXPECT_EQ(gap->at("from").to_number<std::uint64_t>(), 0U);
    EXPECT_EQ(gap->at("to").to_number<std::uint64_t>() + received(stream), 8'000'000U);
    EXPECT_GE(received(stream), limits::follow_ring_bytes);
}

TEST_P(Follow, StartsAtTheGivenOffset) {
    const auto request = shell("printf 0123456789");
    run(request);
    const auto stream = follow(request.id, false, 4);
    ASSERT_TRUE(answer<protocol::Done>(stream));
    EXPECT_EQ(host().log(stream).data[Channel::output], "456789");
    EXPECT_FALSE(answer<protocol::Done>(follow(request.id, false, 11)));
}

TEST_P(Follow, LosslessGoesOnAfterALostLinkWithoutAGap) {
    host().give_credit = false;
    const auto request = shell(big);
    start(request);
    auto stream = follow(request.id, true);
    until([&] { return has_used_window(stream); });
    disconnect();
    for (int turn = 0; turn < 20; ++turn) loop_.run_one_for(std::chrono::milliseconds(10));
    connect();
    // Nothing of the last window had been taken.
    stream = follow(request.id, true, 0);
    ASSERT_TRUE(answer<protocol::Done>(stream));
    EXPECT_EQ(received(stream), 8'000'000U);
    EXPECT_THAT(host().log(stream).event("gap"), IsNull());
}

TEST_P(Follow, SendsLateOutputAfterExited) {
    const auto request = shell("sh", {"-c", "(sleep 0.6; echo late) & echo started"});
    exited(start(request));
    const auto stream = follow(request.id, true);
    auto& log = host().log(stream);
    until([&] { return log.event("exited") != nullptr; });
    EXPECT_EQ(log.data[Channel::output], "started\n");
    ASSERT_TRUE(answer<protocol::Done>(stream));
    EXPECT_EQ(log.data[Channel::output], "started\nlate\n");
}

TEST_P(Follow, ForgottenCommandsChildrenDoNotDieOfABrokenPipe) {
    const auto request =
        shell("sh", {"-c", "(sleep 0.3; echo late && echo alive > $HOME/alive) & true"});
    const auto report = run(request);
    EXPECT_TRUE(report.output_open);
    ASSERT_TRUE(call(operation::command_forget, reference(request.id)));
    EXPECT_EQ(run("while [ ! -e $HOME/alive ]; do sleep 0.05; done; cat $HOME/alive").output.window,
              "alive\n");
}

TEST_P(Follow, FloodDoesNotStarveOthers) {
    auto flood = shell("head -c 300000000 /dev/zero");
    const auto stream = start(flood);
    until([&] { return host().log(stream).event("started") != nullptr; });
    // Answered in between, not after it.
    EXPECT_EQ(run("echo hi").output.window, "hi\n");
    EXPECT_EQ(exited(stream).output.bytes, 300'000'000U);
}

TEST_P(Follow, HandsPagesOnOverAPort) {
    auto request = shell(big);
    request.hold_output = true;
    start(request);
    const auto stream = follow(request.id, true);
    ASSERT_TRUE(answer<protocol::Done>(stream));
    // Copied, no frame is larger than what the port takes in one write.
    EXPECT_EQ(host().log(stream).largest_frame > limits::write_bytes, takes_pages());
}

TEST_P(Follow, TwoFollowersGetTheSame) {
    auto request = shell(big);
    request.hold_output = true;
    start(request);
    const auto first = follow(request.id, true);
    until([&] { return received(first) > 1'000'000; });
    const auto second = follow(request.id, true, 1'000'000);
    ASSERT_TRUE(answer<protocol::Done>(first));
    ASSERT_TRUE(answer<protocol::Done>(second));
    EXPECT_EQ(received(first), 8'000'000U);
    const auto* gap = host().log(second).event("gap");
    const auto missing = gap == nullptr ? 0 : gap->at("to").to_number<std::uint64_t>() - 1'000'000;
    EXPECT_EQ(received(second) + missing, 7'000'000U);
}

TEST_P(Follow, HasTheUsualWindowUnlessItAsks) {
    host().give_credit = false;
    const auto request = shell(big);
    start(request);
    protocol::CommandFollow plain;
    plain.id = request.id;
    plain.lossless = true;
    const auto stream = open(operation::command_follow, plain);
    until([&] { return received(stream) > limits::window_bytes - limits::write_bytes; });
    for (int turn = 0; turn < 20; ++turn) loop_.run_one_for(std::chrono::milliseconds(10));
    EXPECT_LE(received(stream), limits::window_bytes);
    for (const std::uint32_t wrong : {0u, 1u, 2 * limits::follow_window_bytes}) {
        plain.window = wrong;
        EXPECT_FALSE(answer<protocol::Done>(open(operation::command_follow, plain)));
    }
}

// A thief may take bytes between tee(2) and read(2): what is counted is what is sent, all the same.
TEST_P(Follow, AProgramThatReadsItsOwnOutputHarmsOnlyItself) {
    constexpr std::size_t pieces = 500, piece = 40'000;
    auto request = shell("python3", {"-c", R"(
import os, sys, time
if os.fork() == 0:
    own = os.open('/proc/self/fd/1', os.O_RDONLY | os.O_NONBLOCK)
    os.close(1)
    while True:
        try:
            if not os.read(own, 1): break
        except BlockingIOError: pass
    os._exit(0)
piece = b'x' * int(sys.argv[2])
for _ in range(int(sys.argv[1])):
    os.write(1, piece)
    time.sleep(0.001)
)",
                                     std::to_string(pieces), std::to_string(piece)});
    request.hold_output = true;
    const auto command = start(request);
    const auto stream = follow(request.id, true);
    ASSERT_TRUE(answer<protocol::Done>(stream));
    const auto report = answer<protocol::CommandReport>(command);
    ASSERT_TRUE(report);
    EXPECT_EQ(received(stream), report->output.bytes);
    EXPECT_LT(received(stream), pieces * piece) << "the thief got nothing";
    EXPECT_TRUE(host().ready) << "the link holds";
}

INSTANTIATE_TEST_SUITE_P(Over, Follow, testing::Values(EndOfFile::closes, EndOfFile::polls),
                         [](const auto& each) {
                             return each.param == EndOfFile::polls ? "Port" : "Socket";
                         });

}  // namespace
}  // namespace guest_agent
