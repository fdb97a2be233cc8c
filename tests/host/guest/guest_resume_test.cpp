// Lost connections: everything in flight goes on with the same agent, and with no other.

#include "tests/host/guest/guest_fixture.hpp"

#include <chrono>

namespace host::guest {
namespace {

using namespace std::chrono_literals;
using protocol::Channel;
using protocol::Kind;
using Request = ScriptedGuest::Request;

class GuestResume : public GuestTest {
  protected:
    bool drop_and_return() {
        const int before = agent.connections;
        agent.drop();
        return loop.until([&] { return agent.connections > before && agent.connected(); });
    }
};

TEST_F(GuestResume, StartsACommandAgainWithItsIdAndHearsItStartOnce) {
    const auto guest = connected();
    const auto start = command();
    agent.on_request = [&](const Request& request) {
        agent.event(request.stream, "started", protocol::CommandStarted());
    };
    int started = 0;
    const auto running = loop.start(guest->run(start, [&] { ++started; }));
    ASSERT_TRUE(loop.until([&] { return started == 1; }));
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(drop_and_return());
        ASSERT_TRUE(
            loop.until([&] { return agent.count("command.start") == std::size_t(round) + 2; }));
        EXPECT_EQ(agent.last("command.start")->as<protocol::CommandStart>().id, start.id);
    }
    loop.settle();
    EXPECT_EQ(started, 1);
    agent.event(agent.last("command.start")->stream, "exited", report(start.id, 7));
    ASSERT_TRUE(loop.until([&] { return running->has_value(); }));
    EXPECT_EQ((**running)->code, 7);
    EXPECT_TRUE(lost.empty());
}

TEST_F(GuestResume, AsksAgainWhatWasNotAnswered) {
    const auto guest = connected();
    int asked = 0;
    agent.on_request = [&](const Request& request) {
        if (++asked == 1) {
            agent.drop();
        } else {
            agent.end(request.stream, protocol::Done());
        }
    };
    EXPECT_TRUE(loop.wait(guest->mount(protocol::Mount())));
    EXPECT_EQ(asked, 2);
}

TEST_F(GuestResume, SendsASecretAgainFromItsBeginning) {
    const auto guest = connected();
    std::string received;
    int opened = 0;
    protocol::StreamId stream{};
    agent.on_request = [&](const Request& request) {
        ++opened;
        received.clear();
        stream = request.stream;
    };
    agent.on_data = [&](const protocol::StreamData& data) {
        if (opened == 1) return agent.drop();
        received += data.bytes;
        if (data.last) agent.end(stream, protocol::Done());
    };
    EXPECT_TRUE(loop.wait(guest->write_secret("s", "exact bytes")));
    EXPECT_EQ(received, "exact bytes");
}

TEST_F(GuestResume, CallsMadeWhileTheLinkIsDownWaitForIt) {
    const auto guest = connected();
    agent.drop();
    const auto mounted = loop.start(guest->mount(protocol::Mount()));
    ASSERT_TRUE(loop.until([&] { return mounted->has_value(); }));
    EXPECT_TRUE(**mounted);
}

TEST_F(GuestResume, TakesConfigurationTimeOffTheDeadlineAndOntoTheClock) {
    const auto guest = connected();
    int asked = 0;
    agent.on_request = [&](const Request& request) {
        if (++asked == 1) return agent.drop();
        agent.end(request.stream, protocol::Done());
    };
    protocol::MachineConfigure configure;
    configure.deadline_ms = 60'000;
    configure.clock_unix_ns = 1'000'000'000'000;
    ASSERT_TRUE(loop.wait(guest->configure(configure)));
    const auto first = agent.requests.at(0).as<protocol::MachineConfigure>();
    const auto second = agent.requests.at(1).as<protocol::MachineConfigure>();
    EXPECT_LT(second.deadline_ms, first.deadline_ms);
    EXPECT_GT(second.deadline_ms, 50'000u);
    EXPECT_GT(*second.clock_unix_ns, *first.clock_unix_ns);
}

TEST_F(GuestResume, ForgottenCommandsAreNotStartedAgain) {
    const auto guest = connected();
    const auto start = command();
    agent.on_request = [&](const Request& request) {
        if (request.operation != "command.start")
            return agent.end(request.stream, protocol::Done());
        auto ended = report(start.id, 0);
        ended.output_open = true;  // its stream stays open
        agent.event(request.stream, "exited", ended);
    };
    ASSERT_TRUE(loop.wait(guest->run(start, nullptr)));
    ASSERT_TRUE(loop.wait(guest->forget(start.id)));
    ASSERT_TRUE(drop_and_return());
    ASSERT_TRUE(loop.wait(guest->mount(protocol::Mount())));
    EXPECT_EQ(agent.count("command.start"), 1u);
}

TEST_F(GuestResume, OpenOutputsOfEndedCommandsAreHeardOfAgain) {
    const auto guest = connected();
    const auto start = command();
    agent.on_request = [&](const Request& request) {
        auto ended = report(start.id, 0, "a");
        ended.output_open = true;
        agent.event(request.stream, "exited", ended);
    };
    ASSERT_TRUE(loop.wait(guest->run(start, nullptr)));
    ASSERT_TRUE(drop_and_return());
    ASSERT_TRUE(loop.until([&] { return agent.count("command.start") == 2; }));
    loop.settle();
    EXPECT_TRUE(late_reports.empty());  // nothing new was in it
    agent.end(agent.last("command.start")->stream, report(start.id, 0, "ab"));
    ASSERT_TRUE(loop.until([&] { return late_reports.size() == 1; }));
}

TEST_F(GuestResume, AFollowerGoesOnWhereItWas) {
    const auto guest = connected();
    std::string output;
    for (int i = 0; i < 60'000; ++i) output += std::to_string(i) + '\n';
    // An agent that loses its link after each piece, at sizes that fit nothing.
    std::size_t pieces = 0;
    agent.on_request = [&](const Request& request) {
        const auto follow = request.as<protocol::CommandFollow>();
        EXPECT_TRUE(follow.lossless);
        const std::string_view rest = std::string_view(output).substr(follow.output_from);
        ++pieces;
        if (pieces < 6) {
            agent.data(request.stream, Channel::output, rest.substr(0, pieces * 31'337), false);
            return;
        }
        // Lost once more than a window ahead of the reader is not possible: credit ends before.
        agent.on_writable = [&, stream = request.stream,
                             from = follow.output_from](protocol::StreamId) mutable {
            from +=
                agent.data(stream, Channel::output, std::string_view(output).substr(from), true);
            if (from == output.size() && !agent.on_data) {
                agent.on_data = [](const protocol::StreamData&) {};
                agent.event(stream, "exited", protocol::Done());
                agent.data(stream, Channel::error, "", true);
                agent.end(stream, protocol::Done());
            }
        };
        agent.on_writable(request.stream);
    };
    protocol::CommandFollow request;
    request.id = "x";
    request.lossless = true;
    const auto follower = guest->follow(request);
    std::string seen;
    int exited = 0;
    int ends = 0;
    for (;;) {
        const auto next = loop.wait(follower->read());
        ASSERT_TRUE(next) << next.error().describe();
        if (!*next) break;
        if ((*next)->what == sandbox::Follower::Chunk::What::bytes) {
            ASSERT_EQ((*next)->offset, seen.size());
            seen += (*next)->bytes;
        }
        exited += (*next)->what == sandbox::Follower::Chunk::What::exited ? 1 : 0;
        ends += (*next)->what == sandbox::Follower::Chunk::What::end_of_channel ? 1 : 0;
        if (pieces < 6 && agent.connected()) {
            ASSERT_TRUE(drop_and_return());
        }
    }
    EXPECT_EQ(seen, output);
    EXPECT_EQ(exited, 1);
    EXPECT_EQ(ends, 2);
}

TEST_F(GuestResume, InputGoesOnFromWhatMayHaveBeenLost) {
    const auto guest = connected();
    std::string wanted;
    for (int i = 0; i < 200'000; ++i) wanted += std::to_string(i) + ' ';
    // The program's side: takes bytes by offset, skipping what it has, and loses the link now and
    // then.
    std::string taken;
    std::uint64_t at = 0;
    bool closed = false;
    protocol::StreamId stream{};
    int drops = 0;
    agent.on_request = [&](const Request& request) {
        stream = request.stream;
        at = request.as<protocol::CommandInput>().from;
        protocol::InputTaken state;
        state.offset = taken.size();
        agent.event(stream, "taken", state);
    };
    agent.on_data = [&](const protocol::StreamData& data) {
        ASSERT_LE(at, taken.size()) << "bytes were lost";
        const std::size_t known = std::min<std::size_t>(taken.size() - at, data.bytes.size());
        taken += data.bytes.substr(known);
        at += data.bytes.size();
        agent.consumed(data.stream, data.channel, data.bytes.size());
        closed = closed || data.last;
        if (closed) return agent.end(stream, protocol::Done());
        if (taken.size() > std::size_t(drops + 1) * 250'000 && drops < 4) {
            ++drops;
            agent.drop();
        }
    };
    protocol::CommandInput request;
    request.id = "x";
    const auto sink = guest->input(request);
    for (std::size_t from = 0; from < wanted.size(); from += 70'001) {
        ASSERT_TRUE(loop.wait(sink->write(wanted.substr(from, 70'001))));
    }
    ASSERT_TRUE(loop.wait(sink->close()));
    ASSERT_TRUE(loop.until([&] { return closed; }));
    EXPECT_EQ(taken.size(), wanted.size());
    EXPECT_TRUE(taken == wanted);
    EXPECT_GE(drops, 3);
}

TEST_F(GuestResume, TheEndOfAnInputOutlivesItsConsumerAndALostLink) {
    const auto guest = connected();
    agent.on_request = [](const Request&) {};
    bool closed = false;
    agent.on_data = [&](const protocol::StreamData&) {};
    {
        const auto sink = guest->input(protocol::CommandInput());
        ASSERT_TRUE(loop.wait(sink->write("abc")));
        ASSERT_TRUE(loop.wait(sink->close()));
    }
    agent.on_data = [&](const protocol::StreamData& data) { closed = closed || data.last; };
    ASSERT_TRUE(drop_and_return());
    EXPECT_TRUE(loop.until([&] { return closed; }));
    EXPECT_EQ(agent.count("command.input"), 2u);
}

TEST_F(GuestResume, AnotherBootIdIsLostAtOnce) {
    const auto guest = connected();
    agent.on_request = [](const Request&) {};
    const auto running = loop.start(guest->run(command(), nullptr));
    ASSERT_TRUE(loop.until([&] { return !agent.requests.empty(); }));
    agent.boot_id = protocol::BootId::random().str();
    agent.drop();
    ASSERT_TRUE(loop.until([&] { return !lost.empty(); }));
    EXPECT_EQ(lost[0].code(), "agent-restarted");
    ASSERT_TRUE(running->has_value());
    EXPECT_EQ((*running)->error().kind(), Kind::unavailable);
    loop.settle();
    EXPECT_EQ(lost.size(), 1u);
    EXPECT_EQ(agent.count("command.start"), 1u);
}

TEST_F(GuestResume, IsLostWhenTheAgentStaysAway) {
    Patience patience;
    patience.link_lost_limit = 200ms;
    agent.listen();
    auto guest = make(patience);
    ASSERT_TRUE(connect(guest));
    agent.answer_with_garbage("");  // accepts, and says nothing more
    agent.drop();
    const auto mounted = loop.start(guest->mount(protocol::Mount()));
    ASSERT_TRUE(loop.until([&] { return !lost.empty(); }));
    EXPECT_EQ(lost[0].code(), "guest-unavailable");
    EXPECT_EQ((*mounted)->error().kind(), Kind::unavailable);
}

TEST_F(GuestResume, IsNotLostWhileSilenceIsExpected) {
    Patience patience;
    patience.link_lost_limit = 200ms;
    agent.listen();
    auto guest = make(patience);
    ASSERT_TRUE(connect(guest));
    guest->expect_silence(true);
    agent.answer_with_garbage("");
    agent.drop();
    const auto began = std::chrono::steady_clock::now();
    loop.until([&] { return std::chrono::steady_clock::now() - began > 600ms; });
    EXPECT_TRUE(lost.empty());
    guest->expect_silence(false);
    ASSERT_TRUE(loop.until([&] { return !lost.empty(); }));
    EXPECT_EQ(lost[0].code(), "guest-unavailable");
}

}  // namespace
}  // namespace host::guest
