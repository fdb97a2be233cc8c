#include "guest-agent/process/spawn_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace guest_agent {
namespace {

using protocol::CommandStart;
using protocol::EnvironmentEntry;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

Account builder() {
    Account account;
    account.name = "builder";
    account.uid = 1'001;
    account.gid = 1'001;
    account.groups = {1'001};
    account.home = "/home/builder";
    account.shell = "/bin/bash";
    return account;
}

CommandStart shell(std::string text, std::vector<std::string> arguments = {}) {
    CommandStart request;
    request.shell = std::move(text);
    request.arguments = std::move(arguments);
    return request;
}

EnvironmentEntry entry(std::string name, std::string value) {
    EnvironmentEntry made;
    made.name = std::move(name);
    made.value = std::move(value);
    return made;
}

TEST(SpawnPlan, RunsShellTextByTheLoginShell) {
    const auto plan = plan_spawn(shell("echo hi"), builder(), {});
    ASSERT_TRUE(plan);
    EXPECT_THAT(plan->programs, ElementsAre("/bin/bash"));
    EXPECT_THAT(plan->arguments, ElementsAre("bash", "-c", "echo hi", "-bash"));
    EXPECT_EQ(plan->directory, "/home/builder");
    EXPECT_FALSE(plan->directory_required);
    EXPECT_EQ(plan->input, InputSource::none);
}

TEST(SpawnPlan, AppendsArgumentsAsParameters) {
    const auto plan = plan_spawn(shell("echo \n", {"a b", ""}), builder(), {});
    ASSERT_TRUE(plan);
    EXPECT_THAT(plan->arguments, ElementsAre("bash", "-c", "echo \"$@\"", "-bash", "a b", ""));
}

TEST(SpawnPlan, HasALoginEnvironment) {
    const auto plan = plan_spawn(shell("true"), builder(), {});
    EXPECT_THAT(
        plan->environment,
        ElementsAre("HOME=/home/builder", "USER=builder", "LOGNAME=builder", "SHELL=/bin/bash",
                    "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games",
                    "LANG=C.UTF-8"));
}

TEST(SpawnPlan, LetsTheRequestWinOverTheMachineOverTheLogin) {
    auto request = shell("true");
    request.environment = {entry("LANG", "C"), entry("B", "request")};
    const auto plan =
        plan_spawn(request, builder(), {entry("A", "machine"), entry("B", "machine")});
    EXPECT_THAT(plan->environment, Contains("LANG=C"));
    EXPECT_THAT(plan->environment, Contains("A=machine"));
    EXPECT_THAT(plan->environment, Contains("B=request"));
    EXPECT_THAT(plan->environment, Not(Contains("B=machine")));
}

TEST(SpawnPlan, NamesATerminalOnlyWhereThereIsOne) {
    auto request = shell("true");
    EXPECT_THAT(plan_spawn(request, builder(), {})->environment,
                Not(Contains(StartsWith("TERM="))));
    request.terminal.emplace();
    const auto plan = plan_spawn(request, builder(), {});
    EXPECT_THAT(plan->environment, Contains(StartsWith("TERM=")));
    EXPECT_EQ(plan->input, InputSource::terminal);
}

TEST(SpawnPlan, LooksProgramsUpInPathInOrder) {
    CommandStart request;
    request.program = "apt-get";
    request.arguments = {"update"};
    request.environment = {entry("PATH", "/a::/b")};
    const auto plan = plan_spawn(request, builder(), {});
    ASSERT_TRUE(plan);
    EXPECT_THAT(plan->programs, ElementsAre("/a/apt-get", "/b/apt-get"));
    EXPECT_THAT(plan->arguments, ElementsAre("apt-get", "update"));
}

TEST(SpawnPlan, TakesAPathAsItIs) {
    CommandStart request;
    request.program = "/usr/sbin/useradd";
    EXPECT_THAT(plan_spawn(request, builder(), {})->programs, ElementsAre("/usr/sbin/useradd"));
}

TEST(SpawnPlan, InsistsOnAnAskedForDirectory) {
    auto request = shell("true");
    request.working_directory = "/srv";
    const auto plan = plan_spawn(request, builder(), {});
    EXPECT_EQ(plan->directory, "/srv");
    EXPECT_TRUE(plan->directory_required);
}

TEST(CheckRequest, RefusesWhatCannotRun) {
    EXPECT_FALSE(check_request(CommandStart()));
    auto both = shell("true");
    both.program = "true";
    EXPECT_FALSE(check_request(both));
    EXPECT_FALSE(check_request(shell("  \n")));
    EXPECT_FALSE(check_request(shell("echo # why", {"a"})));
    EXPECT_TRUE(check_request(shell("echo # why")));
    auto directory = shell("true");
    directory.working_directory = "srv";
    EXPECT_FALSE(check_request(directory));
    auto name = shell("true");
    name.environment = {entry("A=B", "")};
    EXPECT_FALSE(check_request(name));
    auto limit = shell("true");
    limit.limit_ms = 0;
    EXPECT_FALSE(check_request(limit));
}

TEST(CheckRequest, NamesTheArgumentWithANul) {
    const auto checked = check_request(shell("echo", {"a", std::string("b\0c", 3)}));
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().message(), "arguments[1] contains a NUL byte");
}

TEST(EnvironmentFile, HoldsOneEntryALine) {
    const auto entries = parse_environment_file("# proxies\nA=1\n\n=x\nB\nC=x=y #z\nD=");
    ASSERT_EQ(entries.size(), 3U);
    EXPECT_EQ(entries[0].name + "|" + entries[0].value, "A|1");
    EXPECT_EQ(entries[1].name + "|" + entries[1].value, "C|x=y #z");
    EXPECT_EQ(entries[2].name + "|" + entries[2].value, "D|");
}

}  // namespace
}  // namespace guest_agent
