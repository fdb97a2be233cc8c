#include "host/journal/database.hpp"

#include <gtest/gtest.h>

namespace host::journal {
namespace {

model::QualifiedName named(std::string space, std::string name) {
    model::QualifiedName qualified;
    qualified.space = std::move(space);
    qualified.name = std::move(name);
    return qualified;
}

class DatabaseTest : public ::testing::Test {
  protected:
    DatabaseTest() : database_(std::move(*Database::open(":memory:"))) {}

    model::RunRecord add_run(std::string space = "default",
                             model::RunStatus status = model::RunStatus::starting) {
        model::RunRecord record(RunId::random());
        record.capsule = named(std::move(space), "workbench");
        record.status = status;
        record.started_by = "local";
        if (model::is_terminal(status)) record.ended_at = 1'000;
        EXPECT_TRUE(database_.insert_run(record));
        return record;
    }
    model::CommandRecord add_command(const RunId& run, std::uint64_t sequence) {
        model::CommandRecord record(CommandId::random(), run);
        record.sequence = sequence;
        record.command = "echo";
        EXPECT_TRUE(database_.insert_command(record));
        return record;
    }

    Database database_;
};

TEST_F(DatabaseTest, RefusesANamespaceTwice) {
    model::NamespaceRecord record;
    record.name = "default";
    record.created_at = 7;
    ASSERT_TRUE(database_.insert_namespace(record));
    auto again = database_.insert_namespace(record);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code(), "already-exists");
    EXPECT_EQ(database_.namespaces()->size(), 1u);
}

TEST_F(DatabaseTest, KnowsAnEmptyNamespace) {
    EXPECT_TRUE(*database_.is_namespace_empty("a"));
    model::VfsRecord record;
    record.name = named("a", "data");
    record.folder = "f";
    ASSERT_TRUE(database_.insert_vfs(record));
    EXPECT_FALSE(*database_.is_namespace_empty("a"));
    EXPECT_TRUE(*database_.delete_vfs(record.name));
    EXPECT_FALSE(*database_.delete_vfs(record.name));
    EXPECT_TRUE(*database_.is_namespace_empty("a"));
}

TEST_F(DatabaseTest, KeepsSecretBytesExactly) {
    model::SecretRecord record;
    record.name = named("a", "token");
    record.sealed = std::string("\0\xff\n\0x", 5);
    record.created_at = 1;
    record.updated_at = 1;
    ASSERT_TRUE(database_.put_secret(record));
    record.updated_at = 2;
    record.created_at = 2;
    ASSERT_TRUE(database_.put_secret(record));
    auto found = database_.find_secret(record.name);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->sealed, record.sealed);
    EXPECT_EQ((*found)->created_at, 1);
    EXPECT_EQ((*found)->updated_at, 2);
    EXPECT_EQ(database_.secrets("a")->front().sealed, "");
}

TEST_F(DatabaseTest, KeepsADefinition) {
    model::CapsuleRecord record;
    record.name = named("a", "report");
    record.definition.packages = {"jq"};
    record.definition.auto_terminate = true;
    model::StartupCommand command;
    command.command = "python3";
    command.arguments = {"", "a b", "$x\n"};
    command.max_duration_ms = 3'000;
    record.definition.startup.push_back(command);
    record.source = "autoTerminate = true\n";
    ASSERT_TRUE(database_.put_capsule(record));
    auto found = database_.find_capsule(record.name);
    ASSERT_TRUE(found && *found) << found.error().describe();
    EXPECT_EQ((*found)->definition.startup.at(0).arguments, command.arguments);
    EXPECT_EQ((*found)->definition.startup.at(0).max_duration_ms, command.max_duration_ms);
    EXPECT_EQ((*found)->definition.packages, record.definition.packages);
    EXPECT_EQ((*found)->source, record.source);
}

TEST_F(DatabaseTest, UpdatesARun) {
    auto record = add_run();
    record.status = model::RunStatus::running;
    record.phase = model::RunPhase::ending;
    record.pending_status = model::RunStatus::finished;
    record.agent_boot_id = "boot";
    record.ready_at = 5;
    ASSERT_TRUE(database_.update_run(record));
    auto found = database_.find_run(record.id);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->status, model::RunStatus::running);
    EXPECT_EQ((*found)->phase, model::RunPhase::ending);
    EXPECT_EQ((*found)->pending_status, model::RunStatus::finished);
    EXPECT_EQ((*found)->agent_boot_id, "boot");
    EXPECT_EQ((*found)->ready_at, 5);
    EXPECT_FALSE((*found)->ended_at);
}

TEST_F(DatabaseTest, ListsRunsNewestFirstByPageAndFilter) {
    const auto first = add_run("a");
    const auto second = add_run("b", model::RunStatus::finished);
    const auto third = add_run("a", model::RunStatus::error);

    RunQuery all;
    all.limit = 2;
    auto page = database_.runs(all);
    ASSERT_TRUE(page);
    ASSERT_EQ(page->size(), 2u);
    EXPECT_EQ(page->at(0).record.id, third.id);
    EXPECT_EQ(page->at(1).record.id, second.id);
    all.below = page->back().number;
    page = database_.runs(all);
    ASSERT_EQ(page->size(), 1u);
    EXPECT_EQ(page->at(0).record.id, first.id);

    RunQuery in_a;
    in_a.spaces = {"a"};
    EXPECT_EQ(database_.runs(in_a)->size(), 2u);
    in_a.live_only = true;
    EXPECT_EQ(database_.runs(in_a)->size(), 1u);
    RunQuery failed;
    failed.status = model::RunStatus::error;
    EXPECT_EQ(database_.runs(failed)->at(0).record.id, third.id);
    EXPECT_EQ(database_.live_runs()->size(), 1u);
}

TEST_F(DatabaseTest, ForgetsTheOldestEndedRunsOnly) {
    add_run("a");
    const auto oldest = add_run("a", model::RunStatus::finished);
    add_run("a", model::RunStatus::finished);
    add_command(oldest.id, 1);
    auto forget = database_.runs_to_forget(0, 1);
    ASSERT_TRUE(forget);
    ASSERT_EQ(forget->size(), 1u);
    EXPECT_EQ(forget->at(0), oldest.id);
    EXPECT_EQ(database_.runs_to_forget(2'000, 100)->size(), 2u);
    ASSERT_TRUE(database_.forget_run(oldest.id));
    EXPECT_FALSE(database_.find_run(oldest.id)->has_value());
    EXPECT_EQ(database_.commands(oldest.id, std::nullopt, 10)->size(), 0u);
}

TEST_F(DatabaseTest, KeepsACommandAndItsResult) {
    const auto run = add_run();
    model::CommandRecord record(CommandId::random(), run.id);
    record.sequence = 1;
    record.command = "python3";
    record.arguments = {"-c", "a\0b"};
    record.async = true;
    record.terminal_rows = 24;
    record.terminal_columns = 80;
    model::Variable variable;
    variable.name = "A";
    variable.value = "1";
    record.environment = {variable};
    ASSERT_TRUE(database_.insert_command(record));
    record.status = model::CommandStatus::error;
    record.end_reason = model::EndReason::signaled;
    record.exit_code = 137;
    record.output.window = std::string("x\0y", 3);
    record.output.characters = 70'003;
    record.output_open = true;
    record.run_time_ms = 9;
    record.ended_at = 10;
    ASSERT_TRUE(database_.update_command(record));
    auto found = database_.find_command(run.id, record.id);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->arguments, record.arguments);
    EXPECT_EQ((*found)->environment.at(0).value, "1");
    EXPECT_EQ((*found)->terminal_columns, 80);
    EXPECT_EQ((*found)->status, model::CommandStatus::error);
    EXPECT_EQ((*found)->end_reason, model::EndReason::signaled);
    EXPECT_EQ((*found)->exit_code, 137);
    EXPECT_EQ((*found)->output.window, record.output.window);
    EXPECT_EQ((*found)->output.characters, 70'003u);
    EXPECT_TRUE((*found)->output_open);
    EXPECT_FALSE(database_.find_command(RunId::random(), record.id)->has_value());
}

TEST_F(DatabaseTest, TellsOpenFromHeldCommands) {
    const auto run = add_run();
    auto ended = add_command(run.id, 1);
    const auto open = add_command(run.id, 2);
    ASSERT_TRUE(database_.set_held(ended.id, true));
    EXPECT_EQ(database_.held_commands(run.id)->size(), 0u);
    ended.status = model::CommandStatus::finished;
    ended.ended_at = 3;
    ASSERT_TRUE(database_.update_command(ended));
    ASSERT_EQ(database_.held_commands(run.id)->size(), 1u);
    ASSERT_EQ(database_.open_commands(run.id)->size(), 1u);
    EXPECT_EQ(database_.open_commands(run.id)->at(0).id, open.id);
    ASSERT_TRUE(database_.set_held(ended.id, false));
    EXPECT_EQ(database_.held_commands(run.id)->size(), 0u);
    EXPECT_EQ(*database_.last_sequence(run.id), 2u);
}

TEST_F(DatabaseTest, KeepsACommandsInputUntilItHasEnded) {
    const auto run = add_run();
    model::CommandRecord record(CommandId::random(), run.id);
    record.sequence = 1;
    record.input_text = std::string("a\0b", 3);
    ASSERT_TRUE(database_.insert_command(record));
    record.status = model::CommandStatus::running;
    ASSERT_TRUE(database_.update_command(record));
    EXPECT_EQ(database_.open_commands(run.id)->at(0).input_text, record.input_text);
    record.status = model::CommandStatus::finished;
    record.ended_at = 3;
    ASSERT_TRUE(database_.update_command(record));
    EXPECT_EQ((*database_.find_command(run.id, record.id))->input_text, std::nullopt);

    // No text is not an empty text, which is an end of file at once.
    model::CommandRecord empty(CommandId::random(), run.id);
    empty.sequence = 2;
    empty.input_text = "";
    ASSERT_TRUE(database_.insert_command(empty));
    EXPECT_EQ((*database_.find_command(run.id, empty.id))->input_text, "");
    const auto none = add_command(run.id, 3);
    EXPECT_EQ((*database_.find_command(run.id, none.id))->input_text, std::nullopt);
}

TEST_F(DatabaseTest, ListsCommandsWithoutOutputsAndStartup) {
    const auto run = add_run();
    auto first = add_command(run.id, 1);
    first.output.window = "long";
    ASSERT_TRUE(database_.update_command(first));
    add_command(run.id, 2);
    model::CommandRecord startup(CommandId::random(), run.id);
    startup.startup = true;
    startup.sequence = 1;
    ASSERT_TRUE(database_.insert_command(startup));
    auto page = database_.commands(run.id, std::nullopt, 1);
    ASSERT_EQ(page->size(), 1u);
    EXPECT_EQ(page->at(0).sequence, 2u);
    page = database_.commands(run.id, 2, 10);
    ASSERT_EQ(page->size(), 1u);
    EXPECT_EQ(page->at(0).output.window, "");
    EXPECT_EQ(database_.startup_commands(run.id)->size(), 1u);
}

TEST_F(DatabaseTest, BoundsStoredOutput) {
    const auto run = add_run();
    for (std::uint64_t i = 1; i <= 2; ++i) {
        auto command = add_command(run.id, i);
        command.output.window = std::string(100 * i, 'x');
        command.output.characters = 100 * i;
        command.ended_at = static_cast<std::int64_t>(i);
        ASSERT_TRUE(database_.update_command(command));
    }
    EXPECT_EQ(*database_.stored_output_bytes(), 300u);
    EXPECT_TRUE(*database_.drop_oldest_output());
    EXPECT_EQ(*database_.stored_output_bytes(), 200u);
    EXPECT_TRUE(*database_.drop_oldest_output());
    EXPECT_FALSE(*database_.drop_oldest_output());
}

TEST_F(DatabaseTest, NumbersEventsForEver) {
    model::EventRecord event;
    event.space = "a";
    event.type = "run.started";
    event.data = "{}";
    EXPECT_EQ(*database_.append_event(event), 1u);
    event.space = "b";
    EXPECT_EQ(*database_.append_event(event), 2u);
    EXPECT_EQ(database_.events_after(0, {"b"}, 10)->size(), 1u);
    EXPECT_EQ(database_.events_after(0, {}, 10)->size(), 2u);
    ASSERT_TRUE(database_.trim_events(0));
    EXPECT_EQ(database_.events_after(0, {}, 10)->size(), 0u);
    EXPECT_EQ(*database_.last_event_id(), 2u);
    EXPECT_EQ(*database_.append_event(event), 3u);
}

TEST_F(DatabaseTest, RollsBackATransactionThatWasNotCommitted) {
    {
        auto transaction = database_.begin(Durability::disk);
        ASSERT_TRUE(transaction);
        model::NamespaceRecord record;
        record.name = "gone";
        ASSERT_TRUE(database_.insert_namespace(record));
    }
    EXPECT_FALSE(database_.find_namespace("gone")->has_value());
    EXPECT_TRUE(database_.begin(Durability::process));
}

TEST_F(DatabaseTest, RemembersIdempotencyKeysWithTheirRun) {
    const auto run = add_run();
    IdempotencyRecord record;
    record.scope = "local start a/x";
    record.key = "k";
    record.fingerprint = "f";
    record.target = run.id.str();
    record.run = run.id.str();
    ASSERT_TRUE(database_.insert_idempotent(record));
    EXPECT_FALSE(database_.insert_idempotent(record));
    EXPECT_EQ((*database_.find_idempotent(record.scope, "k"))->target, run.id.str());
    ASSERT_TRUE(database_.forget_run(run.id));
    EXPECT_FALSE(database_.find_idempotent(record.scope, "k")->has_value());
}

TEST_F(DatabaseTest, FindsKeysByHashAndId) {
    model::ApiKeyRecord record;
    record.id = "1";
    record.hash = "h";
    record.namespaces = {"a", "b"};
    ASSERT_TRUE(database_.insert_key(record));
    EXPECT_EQ((*database_.find_key_by_hash("h"))->namespaces, record.namespaces);
    EXPECT_TRUE(*database_.delete_key("1"));
    EXPECT_FALSE(database_.find_key("1")->has_value());
}

}  // namespace
}  // namespace host::journal
