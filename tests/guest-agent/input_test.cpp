// Standard input, terminals, tunnels.

#include "tests/guest-agent/agent_fixture.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gmock/gmock.h>

namespace guest_agent {
namespace {

using protocol::Channel;
using testing::HasSubstr;
namespace operation = protocol::operation;

class InputTest : public AgentFixture {
  protected:
    protocol::StreamId input(const std::string& id, std::uint64_t from = 0) {
        protocol::CommandInput request;
        request.id = id;
        request.from = from;
        return open(operation::command_input, request);
    }
    void send(protocol::StreamId stream, std::string_view bytes, bool last) {
        EXPECT_EQ(host().link->session().send_data(stream, Channel::input, bytes, last),
                  bytes.size());
        host().link->flush();
    }
    std::uint64_t taken(protocol::StreamId stream) {
        auto& log = host().log(stream);
        until([&] { return log.event("taken") != nullptr; });
        return log.event("taken")->at("offset").to_number<std::uint64_t>();
    }
};
using CommandInput = InputTest;

TEST_F(CommandInput, ReachesTheProgramAndEnds) {
    auto request = shell("cat");
    request.input = true;
    const auto command = start(request);
    const auto stream = input(request.id);
    EXPECT_EQ(taken(stream), 0U);
    send(stream, "hello\n", true);
    EXPECT_EQ(exited(command).output.window, "hello\n");
    EXPECT_TRUE(answer<protocol::Done>(stream));
}

TEST_F(CommandInput, GoesOnWhereALostLinkBroke) {
    auto request = shell("cat");
    request.input = true;
    start(request);
    auto stream = input(request.id);
    send(stream, "abc", false);
    protocol::CommandFollow follow;
    follow.id = request.id;
    const auto followed = open(operation::command_follow, follow);
    until([&] { return host().log(followed).data[Channel::output] == "abc"; });
    disconnect();
    connect();
    const auto command = start(request);
    stream = input(request.id, 1);
    EXPECT_EQ(taken(stream), 3U);
    send(stream, "bcdef", true);  // "bc" is known already
    EXPECT_EQ(exited(command).output.window, "abcdef");
}

TEST_F(CommandInput, BeyondWhatIsKnownIsRefused) {
    auto request = shell("cat");
    request.input = true;
    start(request);
    EXPECT_FALSE(answer<protocol::Done>(input(request.id, 5)));
}

TEST_F(CommandInput, OfAProgramThatReadsNoneIsDropped) {
    auto request = shell("exec 0<&-; sleep 0.3; echo over");
    request.input = true;
    const auto command = start(request);
    const auto stream = input(request.id);
    taken(stream);
    send(stream, std::string(200'000, 'x'), false);
    EXPECT_EQ(exited(command).output.window, "over\n");
    EXPECT_TRUE(answer<protocol::Done>(stream));
}

TEST_F(CommandInput, IsRefusedWhereThereIsNone) {
    const auto request = shell("sleep 98765");
    start(request);
    EXPECT_FALSE(answer<protocol::Done>(input(request.id)));
}

TEST_F(CommandInput, TerminalHasSizeEchoAndSignals) {
    auto request = shell("tty > $HOME/tty; stty size; read line; echo got $line; exec sleep 98765");
    request.terminal.emplace();
    request.terminal->rows = 30;
    request.terminal->columns = 100;
    const auto command = start(request);
    protocol::CommandFollow follow;
    follow.id = request.id;
    const auto followed = open(operation::command_follow, follow);
    auto& shown = host().log(followed).data[Channel::output];
    const auto stream = input(request.id);
    until([&] { return shown.find("30 100") != std::string::npos; });
    send(stream, "hello\r", false);
    until([&] { return shown.find("got hello") != std::string::npos; });
    protocol::CommandResize resize;
    resize.id = request.id;
    EXPECT_TRUE(call(operation::command_resize, resize));
    send(stream, "\x03", false);
    const auto report = exited(command);
    EXPECT_EQ(report.code, 130);
    EXPECT_THAT(report.output.window, HasSubstr("30 100\r\nhello\r\ngot hello\r\n"));
}

TEST_F(CommandInput, TunnelCarriesBothWays) {
    protocol::MachineConfigure configure;
    configure.hostname = "test";
    configure.run_id = "some-run";
    const auto configured = call(operation::machine_configure, configure);
    if (!configured)
        GTEST_SKIP() << "only root can give the socket away: " << configured.error().describe();
    const int client = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (folder_ + "/run/api.sock").copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::write(client, "GET", 3), 3);
    ::shutdown(client, SHUT_WR);
    protocol::StreamId stream{};
    until([&] {
        for (const auto& [id, log] : host().logs) {
            if (!log.opened_as.empty()) stream = id;
        }
        return stream != protocol::StreamId{} && host().log(stream).closed[Channel::input];
    });
    EXPECT_THAT(host().log(stream).opened_as, HasSubstr("\"operation\":\"api\""));
    EXPECT_EQ(host().log(stream).data[Channel::input], "GET");
    host().link->session().send_data(stream, Channel::output, "200", true);
    host().link->session().end(stream, protocol::encode_end(protocol::Done()));
    host().link->flush();
    for (int turn = 0; turn < 20; ++turn) loop_.run_one_for(std::chrono::milliseconds(5));
    char answer[8] = {};
    EXPECT_EQ(::read(client, answer, sizeof answer), 3);
    EXPECT_EQ(::read(client, answer, sizeof answer), 0);
    ::close(client);
}

}  // namespace
}  // namespace guest_agent
