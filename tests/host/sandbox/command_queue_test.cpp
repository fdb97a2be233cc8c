#include "support/world.hpp"

#include <gmock/gmock.h>

namespace host::sandbox {
namespace {

using model::CommandStatus;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Commands : public ::testing::Test, public World {
  protected:
    Commands() {
        start_daemon();
        script = programs_succeed;
        define("empty", {});
        id = start("empty");
    }
    std::string started() {
        std::string all;
        for (const auto& key : agent(id)->order) {
            const auto record = *database.find_command(id, *protocol::CommandId::parse(key));
            all += record->command + " ";
        }
        return all;
    }
    void finish(const protocol::CommandId& command, int code = 0, std::string output = "") {
        agent(id)->finish(command.str(), "exited", code, std::move(output));
        settle();
    }

    RunId id = RunId::random();
};

TEST_F(Commands, WaitForTheStartAndThenRunOneAfterAnother) {
    const auto first = exec(id, "first");
    const auto second = exec(id, "second");
    EXPECT_EQ(command(id, first).status, CommandStatus::queued);
    settle();
    EXPECT_EQ(started(), "first ");
    EXPECT_EQ(command(id, first).status, CommandStatus::running);
    EXPECT_EQ(command(id, second).status, CommandStatus::queued);
    finish(first, 0, "out");
    EXPECT_EQ(command(id, first).status, CommandStatus::finished);
    EXPECT_EQ(command(id, first).output.window, "out");
    EXPECT_EQ(started(), "first second ");
    finish(second, 3);
    EXPECT_EQ(command(id, second).status, CommandStatus::error);
    EXPECT_EQ(command(id, second).exit_code, 3);
}

TEST_F(Commands, AnAsyncOneDoesNotHoldUpTheNext) {
    settle();
    const auto slow = exec(id, "slow", true);
    const auto second = exec(id, "second");
    const auto third = exec(id, "third");
    settle();
    EXPECT_EQ(started(), "slow second ");
    finish(second);
    EXPECT_EQ(started(), "slow second third ");
    finish(third);
    EXPECT_EQ(command(id, slow).status, CommandStatus::running);
}

TEST_F(Commands, AnAsyncOneStillWaitsForItsTurn) {
    settle();
    const auto first = exec(id, "first");
    exec(id, "later", true);
    settle();
    EXPECT_EQ(started(), "first ");
    finish(first);
    EXPECT_EQ(started(), "first later ");
}

TEST_F(Commands, FiftyAsyncOnesRunAtOnce) {
    settle();
    std::vector<protocol::CommandId> all;
    for (int i = 0; i < 50; ++i) all.push_back(exec(id, "c" + std::to_string(i), true));
    settle();
    EXPECT_EQ(agent(id)->order.size(), 50u);
    for (const auto& one : all) finish(one);
    for (const auto& one : all) EXPECT_EQ(command(id, one).status, CommandStatus::finished);
    EXPECT_TRUE(agent(id)->commands.empty());
}

TEST_F(Commands, NeverMoreAtOnceThanTheAgentTakes) {
    settle();
    for (int i = 0; i < 300; ++i) exec(id, "c", true);
    settle();
    EXPECT_EQ(agent(id)->order.size(), protocol::limits::commands_running);
    finish(*protocol::CommandId::parse(agent(id)->order.front()));
    EXPECT_EQ(agent(id)->order.size(), protocol::limits::commands_running + 1u);
}

TEST_F(Commands, AreCommittedBeforeTheAgentForgets) {
    settle();
    const auto one = exec(id, "one");
    settle();
    agent(id)->finish(one.str(), "exited", 0, "result");
    // Up to the handler in which the agent forgets, the row must have it.
    for (int i = 0; i < 50 && !agent(id)->forgotten.contains(one.str()); ++i) steps(1);
    EXPECT_TRUE(agent(id)->forgotten.contains(one.str()));
    EXPECT_EQ((*database.find_command(id, one))->output.window, "result");
}

TEST_F(Commands, StayWithTheAgentWhileOutputIsOpen) {
    settle();
    const auto one = exec(id, "one");
    settle();
    auto report = report_of(one.str(), "exited", 0, "early");
    report.output_open = true;
    agent(id)->commands.at(one.str()).report = report;
    agent(id)->connection->wake();
    settle();
    EXPECT_EQ(command(id, one).status, CommandStatus::finished);
    EXPECT_FALSE(agent(id)->forgotten.contains(one.str()));
    // Asked for, the newest window is fetched.
    agent(id)->commands.at(one.str()).report->output.window = "early late";
    EXPECT_EQ((*call(service->command(Principal(), id, one)))->output.window, "early late");
    report = report_of(one.str(), "exited", 0, "early late end");
    agent(id)->connection->callbacks().late_report(report);
    settle();
    EXPECT_TRUE(agent(id)->forgotten.contains(one.str()));
    EXPECT_EQ(command(id, one).output.window, "early late end");
    EXPECT_EQ(command(id, one).status, CommandStatus::finished);
}

TEST_F(Commands, HoldTheirOutputForAFollowerThatIsExpected) {
    settle();
    CommandRequest request;
    request.command = "held";
    request.hold_output = true;
    const auto held = service->exec(Principal(), id, request, "")->id;
    settle();
    finish(held);
    EXPECT_EQ(command(id, held).status, CommandStatus::finished);
    EXPECT_FALSE(agent(id)->forgotten.contains(held.str()));
    {
        auto follower = call(service->follow(Principal(), id, held, 0, 0, true));
        ASSERT_TRUE(follower && *follower);
        (**follower)->close();
    }
    settle();
    EXPECT_TRUE(agent(id)->forgotten.contains(held.str()));
    EXPECT_EQ(call(service->follow(Principal(), id, held, 0, 0, true))->error().code(),
              "command-ended");
}

TEST_F(Commands, AreForgottenWhenNoFollowerComes) {
    settle();
    CommandRequest request;
    request.command = "held";
    request.hold_output = true;
    const auto held = service->exec(Principal(), id, request, "")->id;
    settle();
    finish(held);
    advance(29'000);
    EXPECT_FALSE(agent(id)->forgotten.contains(held.str()));
    advance(2'000);
    EXPECT_TRUE(agent(id)->forgotten.contains(held.str()));
}

TEST_F(Commands, AQueuedOneIsCanceled) {
    settle();
    const auto first = exec(id, "first");
    const auto second = exec(id, "second");
    const auto third = exec(id, "third");
    settle();
    auto canceled = call(service->kill_command(Principal(), id, second, 9));
    ASSERT_TRUE(canceled && *canceled);
    EXPECT_EQ((*canceled)->status, CommandStatus::error);
    EXPECT_EQ((*canceled)->end_reason, model::EndReason::canceled);
    EXPECT_FALSE((*canceled)->exit_code);
    finish(first);
    EXPECT_EQ(started(), "first third ");
    finish(third);
}

TEST_F(Commands, ARunningOneIsKilledAndSaysSo) {
    settle();
    const auto one = exec(id, "sleep");
    settle();
    auto killed = call(service->kill_command(Principal(), id, one, 9));
    ASSERT_TRUE(killed && *killed);
    EXPECT_EQ((*killed)->end_reason, model::EndReason::killed);
    EXPECT_EQ((*killed)->exit_code, 137);
    EXPECT_TRUE(*call(service->kill_command(Principal(), id, one, 9))) << "twice is no error";
    EXPECT_EQ(call(service->kill_command(Principal(), id, one, 65))->error().code(),
              "invalid-request");
}

TEST_F(Commands, AreRefusedBeforeTheyAreStored) {
    const auto refused = [this](CommandRequest request) {
        auto answer = service->exec(Principal(), id, std::move(request), "");
        return answer ? "" : answer.error().code();
    };
    CommandRequest request;
    EXPECT_EQ(refused(request), "invalid-request");
    request.command = "echo";
    request.arguments = {std::string("a\0b", 3)};
    EXPECT_EQ(refused(request), "invalid-request");
    request.arguments = {std::string(2u << 20, 'x')};
    EXPECT_EQ(refused(request), "too-large");
    request.arguments.clear();
    request.max_duration_ms = 0;
    EXPECT_EQ(refused(request), "invalid-request");
    request.max_duration_ms.reset();
    model::Variable variable;
    variable.name = "A=B";
    request.environment = {variable};
    EXPECT_EQ(refused(request), "invalid-request");
    request.environment.clear();
    request.command = "echo # comment";
    request.arguments = {"x"};
    EXPECT_EQ(refused(request), "invalid-request");
    EXPECT_EQ(*database.last_sequence(id), 0u);
}

TEST_F(Commands, GiveTheSameCommandForTheSameKey) {
    CommandRequest request;
    request.command = "once";
    const auto first = service->exec(Principal(), id, request, "k");
    const auto again = service->exec(Principal(), id, request, "k");
    ASSERT_TRUE(first && again);
    EXPECT_EQ(first->id, again->id);
    request.command = "other";
    EXPECT_EQ(service->exec(Principal(), id, request, "k").error().code(), "idempotency-mismatch");
}

TEST_F(Commands, AWaiterHearsOfTheEndAsItHappens) {
    settle();
    const auto one = exec(id, "one");
    auto heard = std::make_shared<std::optional<CommandStatus>>();
    later(service->wait_command(Principal(), id, one, std::chrono::seconds(30)),
          [heard](Result<model::CommandRecord> record) { *heard = record->status; });
    settle();
    EXPECT_FALSE(*heard);
    finish(one);
    EXPECT_EQ(*heard, CommandStatus::finished);
}

TEST_F(Commands, AWaiterGetsTheRecordAtItsLimit) {
    settle();
    const auto one = exec(id, "one");
    auto heard = std::make_shared<std::optional<CommandStatus>>();
    later(service->wait_command(Principal(), id, one, std::chrono::seconds(30)),
          [heard](Result<model::CommandRecord> record) { *heard = record->status; });
    advance(29'999);
    EXPECT_FALSE(*heard);
    advance(1);
    EXPECT_EQ(*heard, CommandStatus::running);
}

TEST_F(Commands, AreListedByPageNewestFirst) {
    settle();
    for (const char* text : {"a", "b", "c"}) exec(id, text, true);
    settle();
    Page page;
    page.limit = 2;
    auto listed = service->commands(Principal(), id, page);
    ASSERT_TRUE(listed);
    ASSERT_EQ(listed->items.size(), 2u);
    EXPECT_EQ(listed->items[0].command, "c");
    page.after = listed->next;
    listed = service->commands(Principal(), id, page);
    ASSERT_EQ(listed->items.size(), 1u);
    EXPECT_EQ(listed->items[0].command, "a");
    EXPECT_EQ(listed->next, "");
    page.after = "x";
    EXPECT_EQ(service->commands(Principal(), id, page).error().code(), "invalid-request");
}

}  // namespace
}  // namespace host::sandbox
