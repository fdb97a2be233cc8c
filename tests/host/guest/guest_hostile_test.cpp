// A guest that lies or breaks the rules: one connection a broken rule, and an end to patience.

#include "tests/host/guest/guest_fixture.hpp"

#include <chrono>

namespace host::guest {
namespace {

using namespace std::chrono_literals;
using protocol::Channel;
using protocol::Kind;
using protocol::StreamId;
using Request = ScriptedGuest::Request;

class GuestHostile : public GuestTest {
  protected:
    // What the guest does to each command.start; expects that it costs it a connection and that an
    // honest answer on the next one is still taken.
    void expect_one_connection(
        std::function<void(const Request&, const std::string& id)> misbehave) {
        const auto guest = connected();
        const auto start = command();
        int asked = 0;
        agent.on_request = [&](const Request& request) {
            if (++asked == 1) return misbehave(request, start.id);
            agent.event(request.stream, "exited", report(start.id, 0));
        };
        const auto ended = loop.wait(guest->run(start, nullptr));
        ASSERT_TRUE(ended) << ended.error().describe();
        EXPECT_EQ(ended->code, 0);
        EXPECT_EQ(agent.connections, 2);
        EXPECT_TRUE(lost.empty());
    }
};

TEST_F(GuestHostile, ReportOfAnotherCommand) {
    expect_one_connection([&](const Request& request, const std::string&) {
        agent.event(request.stream, "exited", report(protocol::CommandId::random().str(), 0));
    });
}

TEST_F(GuestHostile, CommandThatExitsAgainAndAgain) {
    const auto guest = connected();
    const auto start = command();
    agent.on_request = [&](const Request& request) {
        if (request.operation != "command.start" || agent.connections > 1) return;
        agent.event(request.stream, "exited", report(start.id, 0, "a"));
        agent.event(request.stream, "exited", report(start.id, 0, "ab"));
    };
    ASSERT_TRUE(loop.wait(guest->run(start, nullptr)));
    ASSERT_TRUE(loop.until([&] { return agent.connections == 2; }));
    EXPECT_TRUE(late_reports.empty());
}

TEST_F(GuestHostile, ExitCodeThatNoProcessHas) {
    expect_one_connection([&](const Request& request, const std::string& id) {
        agent.event(request.stream, "exited", report(id, 4711));
    });
}

TEST_F(GuestHostile, EventThatIsNotJson) {
    expect_one_connection([&](const Request& request, const std::string&) {
        agent.event_text(request.stream, "{\"event\":");
    });
}

TEST_F(GuestHostile, EventOfNoKnownName) {
    expect_one_connection([&](const Request& request, const std::string&) {
        agent.event_text(request.stream, R"({"event":"vanished"})");
    });
}

TEST_F(GuestHostile, EndThatIsNeitherOkNorFailure) {
    expect_one_connection([&](const Request& request, const std::string&) {
        agent.end_text(request.stream, R"({"maybe":{}})");
    });
}

TEST_F(GuestHostile, EndOfACommandWithoutAReport) {
    expect_one_connection([&](const Request& request, const std::string&) {
        agent.end(request.stream, protocol::Done());
    });
}

TEST_F(GuestHostile, DataOnACommandsStream) {
    expect_one_connection([&](const Request& request, const std::string&) {
        agent.data(request.stream, Channel::output, "surprise", false);
    });
}

TEST_F(GuestHostile, StreamForAnUnknownPurpose) {
    expect_one_connection([&](const Request&, const std::string&) {
        agent.open(R"({"operation":"root-shell","peer_uid":0})");
    });
}

TEST_F(GuestHostile, NoticeOfAnUnknownAction) {
    expect_one_connection([&](const Request&, const std::string&) {
        agent.event_text(StreamId::connection, R"({"event":"power","action":"explode"})");
    });
}

TEST_F(GuestHostile, StateOfAnotherCommand) {
    const auto guest = connected();
    agent.on_request = [&](const Request& request) {
        agent.end(request.stream, report("other", 0));
    };
    const auto state = loop.wait(guest->state(protocol::CommandId::random().str()));
    ASSERT_FALSE(state);
    EXPECT_EQ(state.error().kind(), Kind::protocol_violation);
    EXPECT_TRUE(loop.until([&] { return agent.connections == 2; }));
}

TEST_F(GuestHostile, GapsThatFitNothing) {
    const auto guest = connected();
    int asked = 0;
    agent.on_request = [&](const Request& request) {
        if (++asked > 1) return;
        protocol::OutputGap gap;
        gap.channel = static_cast<std::uint8_t>(Channel::output);
        gap.from = 100;  // nothing was sent yet
        gap.to = 200;
        agent.event(request.stream, "gap", gap);
    };
    const auto follower = guest->follow(protocol::CommandFollow());
    EXPECT_TRUE(loop.until([&] { return asked == 2; }));
    EXPECT_EQ(agent.last("command.follow")->as<protocol::CommandFollow>().output_from, 0u);
}

TEST_F(GuestHostile, OutputInCountlessPiecesStaysSmall) {
    const auto guest = connected();
    agent.on_request = [&](const Request& request) {
        for (int i = 0; i < 20'000; ++i) {
            agent.data(request.stream, Channel::output, "o", false);
            agent.data(request.stream, Channel::error, "e", false);
        }
        agent.data(request.stream, Channel::output, "", true);
        agent.data(request.stream, Channel::error, "", true);
        agent.end(request.stream, protocol::Done());
    };
    const auto follower = guest->follow(protocol::CommandFollow());
    ASSERT_TRUE(loop.until([&] { return !agent.requests.empty(); }));
    loop.settle();
    std::size_t bytes = 0;
    std::size_t chunks = 0;
    for (;;) {
        const auto next = loop.wait(follower->read());
        ASSERT_TRUE(next) << next.error().describe();
        if (!*next) break;
        bytes += (*next)->bytes.size();
        ++chunks;
    }
    EXPECT_EQ(bytes, 40'000u);
    EXPECT_LT(chunks, 1'000u);
}

TEST_F(GuestHostile, GarbageInsteadOfAHelloIsForgivenAFewTimes) {
    agent.answer_with_garbage(std::string(64, '\xFF'));
    agent.listen();
    const auto guest = make();
    const auto hello = connect(guest);
    ASSERT_FALSE(hello);
    EXPECT_EQ(hello.error().code(), "protocol-violations");
    EXPECT_EQ(agent.connections, max_violations);
}

TEST_F(GuestHostile, AGuestThatGoesOnIsLost) {
    const auto guest = connected();
    agent.on_request = [&](const Request& request) { agent.event_text(request.stream, "[]"); };
    const auto running = loop.start(guest->run(command(), nullptr));
    ASSERT_TRUE(loop.until([&] { return !lost.empty(); }));
    EXPECT_EQ(lost[0].code(), "protocol-violations");
    ASSERT_TRUE(running->has_value());
    EXPECT_EQ((*running)->error().kind(), Kind::unavailable);
    EXPECT_EQ(agent.connections, max_violations);
}

}  // namespace
}  // namespace host::guest
