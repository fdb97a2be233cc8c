#include "host/guest/guest_link.hpp"

#include "tests/host/guest/guest_fixture.hpp"

#include <chrono>

namespace host::guest {
namespace {

using namespace std::chrono_literals;
using protocol::Kind;
using Request = ScriptedGuest::Request;

class GuestLink : public GuestTest {};

TEST_F(GuestLink, ReturnsTheAgentsHello) {
    agent.listen();
    const auto guest = make();
    const auto hello = connect(guest);
    ASSERT_TRUE(hello) << hello.error().describe();
    EXPECT_EQ(hello->boot_id, agent.boot_id);
    EXPECT_EQ(hello->software, "scripted 1");
}

TEST_F(GuestLink, HearsAnAgentSoonAfterItsPortAppears) {
    const auto guest = make();
    const auto hello = loop.start(guest->connect(in(10s), ""));
    boost::asio::steady_timer later(loop.io, 120ms);
    std::chrono::steady_clock::time_point listening;
    later.async_wait([&](auto) {
        agent.listen();
        listening = std::chrono::steady_clock::now();
    });
    ASSERT_TRUE(loop.until([&] { return hello->has_value(); }));
    EXPECT_TRUE(**hello);
    EXPECT_LT(std::chrono::steady_clock::now() - listening, 50ms);
}

TEST_F(GuestLink, KeepsOneConnectionWhileTheGuestBoots) {
    agent.listen_in_silence();
    const auto guest = make();
    const auto hello = loop.start(guest->connect(in(10s), ""));
    boost::asio::steady_timer booted(loop.io, 400ms);
    bool answering = false;
    booted.async_wait([&](auto) {
        agent.listen();
        answering = true;
    });
    ASSERT_TRUE(loop.until([&] { return hello->has_value(); }));
    EXPECT_TRUE(answering);
    EXPECT_TRUE(**hello);
    EXPECT_EQ(agent.connections, 1);
}

TEST_F(GuestLink, GivesUpConnectingAtTheDeadline) {
    agent.listen_in_silence();
    const auto guest = make();
    const auto hello = loop.wait(guest->connect(in(150ms), ""));
    ASSERT_FALSE(hello);
    EXPECT_EQ(hello.error().kind(), Kind::timed_out);
    EXPECT_EQ(hello.error().code(), "guest-unavailable");
    loop.settle();
    EXPECT_TRUE(lost.empty());  // told by the result alone
}

TEST_F(GuestLink, RefusesAnotherBootIdThanExpected) {
    agent.listen();
    const auto guest = make();
    const auto hello = connect(guest, protocol::BootId::random().str());
    ASSERT_FALSE(hello);
    EXPECT_EQ(hello.error().code(), "agent-restarted");
}

TEST_F(GuestLink, RefusesAnAgentOfAnotherGeneration) {
    agent.hello.generation_min = agent.hello.generation_max = protocol::generation + 1;
    agent.listen();
    const auto guest = make();
    const auto hello = connect(guest);
    ASSERT_FALSE(hello);
    EXPECT_EQ(hello.error().kind(), Kind::unsupported);
}

TEST_F(GuestLink, AsksAndIsAnswered) {
    const auto guest = connected();
    protocol::Mount mount;
    mount.tag = "vfs0";
    mount.name = "data";
    mount.read_only = true;
    EXPECT_TRUE(loop.wait(guest->mount(mount)));
    const auto asked = agent.requests.at(0).as<protocol::Mount>();
    EXPECT_EQ(agent.requests.at(0).operation, "mount");
    EXPECT_EQ(asked.tag, "vfs0");
    EXPECT_EQ(asked.name, "data");
    EXPECT_TRUE(asked.read_only);
}

TEST_F(GuestLink, PassesOnWhyTheAgentRefused) {
    const auto guest = connected();
    agent.on_request = [&](const Request& request) {
        agent.end_failure(request.stream, Kind::not_found, "no device \x1b[31mvfs0");
    };
    const auto mounted = loop.wait(guest->mount(protocol::Mount()));
    ASSERT_FALSE(mounted);
    EXPECT_EQ(mounted.error().kind(), Kind::not_found);
    EXPECT_EQ(mounted.error().message(), "no device \\x1B[31mvfs0");
}

TEST_F(GuestLink, SendsSecretsExactly) {
    const auto guest = connected();
    const std::string secret = std::string("line\n\0end", 9) + std::string(60'000, 'x');
    std::string received;
    protocol::StreamId stream{};
    agent.on_request = [&](const Request& request) { stream = request.stream; };
    agent.on_data = [&](const protocol::StreamData& data) {
        received += data.bytes;
        if (data.last) agent.end(stream, protocol::Done());
    };
    EXPECT_TRUE(loop.wait(guest->write_secret("s1", secret)));
    EXPECT_EQ(received, secret);
    EXPECT_EQ(agent.requests.at(0).as<protocol::SecretWrite>().size, secret.size());
    const auto too_large =
        loop.wait(guest->write_secret("s1", std::string(protocol::limits::secret_bytes + 1, 'x')));
    ASSERT_FALSE(too_large);
    EXPECT_EQ(too_large.error().kind(), Kind::too_large);
}

TEST_F(GuestLink, RunsACommandToItsReport) {
    const auto guest = connected();
    const auto start = command("exit 3");
    agent.on_request = [&](const Request& request) {
        agent.event(request.stream, "started", protocol::CommandStarted());
        auto ended = report(start.id, 3, "hello\n");
        ended.output_open = true;
        agent.event(request.stream, "exited", ended);
    };
    int started = 0;
    const auto ended = loop.wait(guest->run(start, [&] { ++started; }));
    ASSERT_TRUE(ended) << ended.error().describe();
    EXPECT_EQ(started, 1);
    EXPECT_EQ(ended->code, 3);
    EXPECT_EQ(ended->output.window, "hello\n");
    EXPECT_EQ(agent.requests.at(0).as<protocol::CommandStart>().shell, "exit 3");

    // What was printed after the exit arrives by itself.
    auto late = report(start.id, 3, "hello\nlate\n");
    agent.end(agent.requests.at(0).stream, late);
    ASSERT_TRUE(loop.until([&] { return late_reports.size() == 1; }));
    EXPECT_EQ(late_reports[0].output.window, "hello\nlate\n");
    EXPECT_FALSE(late_reports[0].output_open);
}

TEST_F(GuestLink, DoesNotReportTheSameEndTwice) {
    const auto guest = connected();
    const auto start = command();
    agent.on_request = [&](const Request& request) {
        if (request.operation != "command.start") {
            return agent.end_failure(request.stream, Kind::not_found, "unknown");
        }
        agent.event(request.stream, "started", protocol::CommandStarted());
        agent.event(request.stream, "exited", report(start.id, 0, "x"));
        agent.end(request.stream, report(start.id, 0, "x"));
    };
    EXPECT_TRUE(loop.wait(guest->run(start, nullptr)));
    EXPECT_TRUE(loop.wait(guest->ping()));  // after it everything before has been heard
    EXPECT_TRUE(late_reports.empty());
}

TEST_F(GuestLink, ToleratesForgettingWhatIsForgotten) {
    const auto guest = connected();
    agent.on_request = [&](const Request& request) {
        agent.end_failure(request.stream, Kind::not_found, "no such command");
    };
    EXPECT_TRUE(loop.wait(guest->forget(protocol::CommandId::random().str())));
    const auto state = loop.wait(guest->state(protocol::CommandId::random().str()));
    ASSERT_FALSE(state);
    EXPECT_EQ(state.error().kind(), Kind::not_found);
    EXPECT_TRUE(loop.wait(guest->ping()));
}

TEST_F(GuestLink, SettleTimesOutAtItsOwnLimit) {
    const auto guest = connected();
    agent.on_request = [](const Request&) {};
    const auto settled = loop.wait(guest->settle(80ms));
    ASSERT_FALSE(settled);
    EXPECT_EQ(settled.error().kind(), Kind::timed_out);
    // The abandoned question does not stay open.
    EXPECT_TRUE(loop.until([&] { return agent.resets.size() == 1; }));
}

TEST_F(GuestLink, TellsOfPowerOff) {
    const auto guest = connected();
    protocol::PowerNotice notice;
    notice.action = "reboot";
    agent.event(protocol::StreamId::connection, "power", notice);
    ASSERT_TRUE(loop.until([&] { return !notices.empty(); }));
    EXPECT_EQ(notices[0], "reboot");
}

TEST_F(GuestLink, CloseEndsEveryPendingCall) {
    auto guest = connected();
    agent.on_request = [](const Request&) {};
    const auto running = loop.start(guest->run(command(), nullptr));
    const auto called = loop.start(guest->mount(protocol::Mount()));
    const auto follower = guest->follow(protocol::CommandFollow());
    const auto read = loop.start(follower->read());
    const auto sink = guest->input(protocol::CommandInput());
    const auto written = loop.start(sink->write(std::string(1u << 20, 'x')));
    ASSERT_TRUE(loop.until([&] { return agent.requests.size() == 4; }));
    guest->close();
    ASSERT_TRUE(loop.until([&] { return *running && *called && *read && *written; }));
    for (const auto kind : {(*running)->error().kind(), (*called)->error().kind(),
                            (*read)->error().kind(), (*written)->error().kind()}) {
        EXPECT_EQ(kind, Kind::unavailable);
    }
    const auto after = loop.wait(guest->mount(protocol::Mount()));
    EXPECT_EQ(after.error().kind(), Kind::unavailable);
    EXPECT_TRUE(lost.empty());
}

TEST_F(GuestLink, DroppingTheGuestClosesTheLink) {
    auto guest = connected();
    guest.reset();
    EXPECT_TRUE(loop.until([&] { return !agent.connected(); }));
}

}  // namespace
}  // namespace host::guest
