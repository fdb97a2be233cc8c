// Commands as real processes, started and reported over a link.

#include "tests/guest-agent/agent_fixture.hpp"

#include <chrono>
#include <fstream>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

namespace guest_agent {
namespace {

using protocol::CommandReport;
using protocol::Kind;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::StartsWith;
namespace operation = protocol::operation;

using Command = AgentFixture;

TEST_F(Command, ExitCodesAreTheShells) {
    EXPECT_EQ(run("true").code, 0);
    EXPECT_EQ(run("false").code, 1);
    EXPECT_EQ(run("sh", {"-c", "exit 300"}).code, 44);
    EXPECT_EQ(run("kill -9 $$").code, 137);
    EXPECT_EQ(run("bash", {"-c", "kill -SEGV $$"}).code, 139);
    EXPECT_EQ(run("bash", {"-c", "kill -TERM $$"}).code, 143);
    EXPECT_EQ(run("bash", {"-c", "bash -c 'kill -SEGV $$'; exit $?"}).code, 139);
}

TEST_F(Command, ThatIsNotThereIs127AndTheShellSaysSo) {
    const auto report = run("frobnicate-x1");
    EXPECT_EQ(report.kind, "exited");
    EXPECT_EQ(report.code, 127);
    EXPECT_EQ(report.error.window, "-bash: line 1: frobnicate-x1: command not found\n");
}

TEST_F(Command, ThatCannotBeExecutedIs126) {
    std::ofstream(folder_ + "/plain.txt") << "x";
    const auto report = run(folder_ + "/plain.txt");
    EXPECT_EQ(report.code, 126);
    EXPECT_THAT(report.error.window, HasSubstr("Permission denied"));
    EXPECT_EQ(run("/tmp").code, 126);
}

TEST_F(Command, ProgramThatIsNotThereIs127) {
    auto request = shell("");
    request.shell.reset();
    request.program = "frobnicate-x1";
    const auto report = run(request);
    EXPECT_EQ(report.kind, "failedToStart");
    EXPECT_EQ(report.code, 127);
    EXPECT_EQ(report.error.window, "capsule: frobnicate-x1: No such file or directory\n");
}

TEST_F(Command, ArgumentOverTheKernelsLimitIsAResult) {
    const auto report = run("true", {std::string(200'000, 'A')});
    EXPECT_EQ(report.kind, "failedToStart");
    EXPECT_EQ(report.code, 126);
    EXPECT_EQ(report.error.window, "capsule: /bin/bash: Argument list too long\n");
}

TEST_F(Command, ArgumentsArriveAsExactlyOneWordEach) {
    const std::vector<std::string> words = {
        "",  "a b", "$HOME", "`id`",   "x'y\"z", "line1\nline2", "*", "-n",
        "!", "\\",  "~",     "\u00e9", "$(id)",  "a\tb",         ";", "#x"};
    std::vector<std::string> arguments = {"-c", "import sys,json;print(json.dumps(sys.argv[1:]))"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const auto report = run("python3", arguments);
    ASSERT_EQ(report.code, 0) << report.error.window;
    const auto printed = boost::json::parse(report.output.window).as_array();
    ASSERT_EQ(printed.size(), words.size());
    for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(printed[i].as_string(), words[i]);
}

TEST_F(Command, HasCleanSurroundings) {
    const auto report =
        run("grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd; umask; pwd");
    EXPECT_EQ(report.output.window,
              "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n0\n1\n2\n3\n0022\n" + folder_ +
                  "/home\n");
    const auto pipes = run("bash", {"-c", "yes | head -n 1; echo ${PIPESTATUS[0]}"});
    EXPECT_EQ(pipes.output.window, "y\n141\n");
    EXPECT_EQ(pipes.error.window, "");
}

TEST_F(Command, HasNoInputUnlessAskedFor) {
    EXPECT_EQ(run("cat").code, 0);
    EXPECT_EQ(run("read x; echo rc=$?").output.window, "rc=1\n");
}

TEST_F(Command, RunsAsTheUserWithReopenableOutputs) {
    if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
    auto request =
        shell("id -u; id -G; echo a >&2; echo b > /dev/stderr; echo \"rc $?\" > /dev/stdout");
    request.user = "builder";
    const auto report = run(request);
    EXPECT_EQ(report.output.window, "12345\n12345\nrc 0\n");
    EXPECT_EQ(report.error.window, "a\nb\n");
}

TEST_F(Command, OfAnUnknownUserIsAResultThatNamesIt) {
    auto request = shell("id");
    request.user = "nobody-here";
    const auto report = run(request);
    EXPECT_EQ(report.kind, "failedToStart");
    EXPECT_EQ(report.code, 126);
    EXPECT_EQ(report.output.window, "");
    EXPECT_EQ(report.error.window, "capsule: user 'nobody-here' does not exist\n");
}

TEST_F(Command, StartsInTheRootWhenTheHomeCannotBeEntered) {
    auto request = shell("pwd");
    request.user = "homeless";
    const auto report = run(request);
    EXPECT_EQ(report.code, 0);
    EXPECT_EQ(report.output.window, "/\n");
    EXPECT_THAT(
        report.error.window,
        StartsWith("capsule: " + folder_ + "/nowhere: No such file or directory; starting in /\n"));
}

TEST_F(Command, DoesNotRunElsewhereThanAsked) {
    auto request = shell("echo ran");
    request.working_directory = "/no/such/folder";
    const auto report = run(request);
    EXPECT_EQ(report.kind, "failedToStart");
    EXPECT_EQ(report.code, 126);
    EXPECT_EQ(report.output.window, "");
    EXPECT_EQ(report.error.window, "capsule: /no/such/folder: No such file or directory\n");
}

TEST_F(Command, OutputIsBinarySafe) {
    const auto report = run("printf 'a\\xff\\xfeb\\x00c'");
    EXPECT_EQ(report.output.window, std::string("a\uFFFD\uFFFDb\0c", 10));
    EXPECT_EQ(report.output.characters, 6U);
    EXPECT_EQ(report.output.bytes, 6U);
    const auto random = run("head -c 300000 /dev/urandom");
    EXPECT_EQ(random.output.bytes, 300'000U);
}

TEST_F(Command, IsOverThoughABackgroundChildHoldsItsOutput) {
    const auto begin = steady_clock::now();
    const auto stream = start(shell("sh", {"-c", "(sleep 1.5; echo late) & echo started"}));
    const auto report = exited(stream);
    EXPECT_LT(steady_clock::now() - begin, std::chrono::milliseconds(1'400));
    EXPECT_EQ(report.code, 0);
    EXPECT_EQ(report.output.window, "started\n");
    EXPECT_TRUE(report.output_open);
    const auto final_report = answer<CommandReport>(stream);
    ASSERT_TRUE(final_report);
    EXPECT_EQ(final_report->output.window, "started\nlate\n");
    EXPECT_FALSE(final_report->output_open);
    EXPECT_EQ(final_report->run_time_ms, report.run_time_ms);
}

TEST_F(Command, LimitEndsTheWholeTree) {
    if (!has_cgroups()) GTEST_SKIP() << "no cgroup2 to write to on this machine";
    auto request =
        shell("bash", {"-c", "trap '' TERM; (trap '' TERM; exec sleep 98765) & sleep 98765"});
    request.limit_ms = 300;
    const auto report = run(request);
    EXPECT_EQ(report.kind, "timedOut");
    EXPECT_EQ(report.code, 124);
    EXPECT_FALSE(report.output_open) << "somebody still holds the pipes";
}

TEST_F(Command, LimitThatCameTooLateChangesNothing) {
    auto request = shell("true");
    request.limit_ms = 60'000;
    EXPECT_EQ(run(request).kind, "exited");
}

TEST_F(Command, KilledByRequestIs137) {
    const auto request = shell("sleep 98765");
    const auto stream = start(request);
    protocol::CommandSignal signal;
    signal.id = request.id;
    signal.number = SIGKILL;
    ASSERT_TRUE(call(operation::command_signal, signal));
    EXPECT_EQ(exited(stream).kind, "killed");
    EXPECT_EQ(exited(stream).code, 137);
}

TEST_F(Command, TakesOtherSignalsAsAGroup) {
    const auto request =
        shell("trap 'echo got it; exit 5' USR1; echo ready; while :; do sleep 0.05; done");
    const auto stream = start(request);
    protocol::CommandFollow follow;
    follow.id = request.id;
    const auto followed = open(operation::command_follow, follow);
    until([&] { return host().log(followed).data[protocol::Channel::output] == "ready\n"; });
    protocol::CommandSignal signal;
    signal.id = request.id;
    signal.number = SIGUSR1;
    ASSERT_TRUE(call(operation::command_signal, signal));
    EXPECT_EQ(exited(stream).code, 5);
}

TEST_F(Command, StartedTwiceIsOneCommand) {
    const auto request = shell("echo x >> $HOME/count; sleep 0.3; wc -l < $HOME/count");
    const auto first = start(request);
    const auto second = start(request);
    EXPECT_EQ(exited(first).output.window, "1\n");
    EXPECT_EQ(exited(second).output.window, "1\n");
    EXPECT_EQ(run(request).output.window, "1\n");  // long over
}

TEST_F(Command, OutlivesItsConnection) {
    const auto request = shell("sleep 0.3; echo done");
    start(request);
    until([&] { return !host().logs.empty(); });
    disconnect();
    connect();
    EXPECT_EQ(run(request).output.window, "done\n");
}

TEST_F(Command, IsKeptUntilForgotten) {
    const auto request = shell("exit 4");
    run(request);
    const auto state = answer<CommandReport>(open(operation::command_state, reference(request.id)));
    ASSERT_TRUE(state);
    EXPECT_EQ(state->code, 4);
    ASSERT_TRUE(call(operation::command_forget, reference(request.id)));
    const auto gone = answer<CommandReport>(open(operation::command_state, reference(request.id)));
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().kind(), Kind::not_found);
}

TEST_F(Command, CannotBeForgottenWhileItRuns) {
    const auto request = shell("sleep 98765");
    start(request);
    const auto forgotten = call(operation::command_forget, reference(request.id));
    ASSERT_FALSE(forgotten);
    EXPECT_EQ(forgotten.error().kind(), Kind::conflict);
}

TEST_F(Command, ThatCanNeverRunIsAFailure) {
    EXPECT_EQ(answer<CommandReport>(start(shell("echo # why", {"a"}))).error().kind(),
              Kind::invalid_argument);
    auto request = shell("true");
    request.id = "1";
    EXPECT_EQ(answer<CommandReport>(start(request)).error().kind(), Kind::invalid_argument);
}

TEST_F(Command, SettleKillsAllAndAdmitsNoMore) {
    const auto stream = start(shell("sleep 98765"));
    ASSERT_TRUE(call(operation::machine_settle, protocol::Settle()));
    EXPECT_EQ(exited(stream).kind, "killed");
    EXPECT_EQ(machine_.released, 1);
    EXPECT_EQ(answer<CommandReport>(start(shell("true"))).error().kind(), Kind::conflict);
}

TEST_F(Command, HasTheMachinesEnvironment) {
    std::ofstream(folder_ + "/environment") << "LANG=C.UTF-8\n";
    std::ofstream(folder_ + "/proxy-environment") << "http_proxy=http://127.0.0.1:3128\n";
    protocol::MachineConfigure configure;
    configure.hostname = "test";
    protocol::EnvironmentEntry mine;
    mine.name = "MINE";
    mine.value = "a b";
    configure.environment = {mine};
    ASSERT_TRUE(call(operation::machine_configure, configure));
    EXPECT_EQ(run("echo \"$MINE|$LANG|$http_proxy\"").output.window, "a b|C.UTF-8|\n");
    EXPECT_EQ(machine_.hostname, "test");
}

TEST_F(Command, IsToldWhereTheApiIsIfItsUserMayUseIt) {
    if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
    protocol::MachineConfigure configure;
    configure.hostname = "test";
    configure.run_id = protocol::RunId::random().str();
    configure.namespace_name = "sales";
    ASSERT_TRUE(call(operation::machine_configure, configure));
    const auto request_as = [](const std::string& user) {
        auto request = shell("echo \"${MAITENTO_URL-none} $MAITENTO_NAMESPACE\"");
        request.user = user;
        return request;
    };
    const std::string known = "unix://" + folder_ + "/run/api.sock sales\n";
    EXPECT_EQ(run(request_as("tester")).output.window, known);  // root
    EXPECT_EQ(run(request_as("default")).output.window, known);
    EXPECT_EQ(run(request_as("builder")).output.window, "none sales\n");

    // A recipe may point its commands elsewhere.
    auto elsewhere = request_as("default");
    protocol::EnvironmentEntry url;
    url.name = "MAITENTO_URL";
    url.value = "http://10.0.0.1:80";
    elsewhere.environment = {url};
    EXPECT_EQ(run(elsewhere).output.window, "http://10.0.0.1:80 sales\n");

    // Without a run there is no API.
    configure.run_id.clear();
    ASSERT_TRUE(call(operation::machine_configure, configure));
    EXPECT_EQ(run(request_as("default")).output.window, "none sales\n");
}

TEST_F(Command, ManyAtOnceAreAllRight) {
    std::vector<protocol::StreamId> streams;
    for (int i = 0; i < 40; ++i) {
        auto request = shell("");
        request.shell.reset();
        request.program = "sh";
        request.arguments = {"-c", "echo $0; exit $0", std::to_string(i)};
        streams.push_back(start(request));
    }
    for (int i = 0; i < 40; ++i) {
        const auto report = exited(streams[static_cast<std::size_t>(i)]);
        EXPECT_EQ(report.code, i);
        EXPECT_EQ(report.output.window, std::to_string(i) + "\n");
    }
}

TEST_F(Command, MountAndSecretNamesAreChecked) {
    protocol::Mount mount;
    mount.tag = "vfs0";
    for (const auto* name : {"../etc", "a/b", "..", "", "secrets"}) {
        mount.name = name;
        EXPECT_FALSE(call(operation::mount, mount)) << name;
    }
    mount.name = "data";
    EXPECT_TRUE(call(operation::mount, mount));
    EXPECT_THAT(machine_.mounts, testing::ElementsAre("vfs0 at data"));

    protocol::SecretWrite secret;
    secret.name = "token";
    secret.size = 3;
    const auto stream = open(operation::secret_write, secret);
    host().link->session().send_data(stream, protocol::Channel::input, "abc", true);
    host().link->flush();
    EXPECT_TRUE(answer<protocol::Done>(stream));
    EXPECT_EQ(machine_.secrets["token"], "abc");
}

}  // namespace
}  // namespace guest_agent
