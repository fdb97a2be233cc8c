#include "host/sandbox/command_result.hpp"

#include "support/fake_guest.hpp"

#include <gtest/gtest.h>

namespace host::sandbox {
namespace {

model::StartupCommand startup(std::string command, std::vector<std::string> arguments = {}) {
    model::StartupCommand result;
    result.command = std::move(command);
    result.arguments = std::move(arguments);
    return result;
}

model::CommandRecord running() {
    model::CommandRecord record(protocol::CommandId::random(), RunId::random());
    record.status = model::CommandStatus::running;
    return record;
}

TEST(StartupFailure, EndsWithTheErrorOutput) {
    EXPECT_EQ(startup_failure(startup("bash", {"-c", "exit 3"}),
                              report_of("", "exited", 3, "out", "bad\nLAST\n")),
              "Startup command failed: bash -c exit 3 - bad\nLAST");
}

TEST(StartupFailure, SaysTheCodeWhereTheErrorOutputIsEmpty) {
    EXPECT_EQ(startup_failure(startup("false"), report_of("", "exited", 3)),
              "Startup command failed: false - exit code 3");
}

TEST(StartupFailure, NamesTheSignal) {
    auto report = report_of("", "signaled", 139);
    report.signal = 11;
    EXPECT_EQ(startup_failure(startup("x"), report),
              "Startup command failed: x - killed by SIGSEGV (139)");
}

TEST(StartupFailure, SaysItsLimit) {
    auto command = startup("sleep", {"9"});
    command.max_duration_ms = 3'000;
    EXPECT_EQ(startup_failure(command, report_of("", "timedOut", 124)),
              "Startup command failed: sleep 9 - did not end within 00:00:03");
}

TEST(StartupFailure, CutsTheCommandAtTwoHundredCharacters) {
    const std::string text = startup_failure(
        startup(std::string(150, 'a'), {std::string(150, 'b')}), report_of("", "exited", 1));
    EXPECT_EQ(text, "Startup command failed: " + std::string(150, 'a') + " " +
                        std::string(49, 'b') + " - exit code 1");
}

TEST(StartupFailure, CutsBetweenCharacters) {
    std::string euros;
    for (int i = 0; i < 300; ++i) euros += "\u20ac";
    const std::string text = startup_failure(startup(euros), report_of("", "exited", 1));
    EXPECT_EQ(text.size(), std::string("Startup command failed: ").size() + 200 * 3 +
                               std::string(" - exit code 1").size());
}

TEST(StartupFailure, KeepsTheLastFourThousandCharactersOfTheErrorOutput) {
    const std::string text = startup_failure(
        startup("x"), report_of("", "exited", 1, "", std::string(5'000, 'e') + "\u20acLAST\n"));
    EXPECT_TRUE(text.ends_with("\u20acLAST"));
    EXPECT_EQ(tail(std::string(5'000, 'e') + "\u20acLAST\n", 4'096).size(), 4'096u + 2u);
}

TEST(CommandResult, TakesTheAgentsVerdict) {
    struct Row {
        const char* kind;
        int code;
        model::CommandStatus status;
        model::EndReason reason;
    };
    using S = model::CommandStatus;
    using R = model::EndReason;
    for (const Row& row :
         {Row{"exited", 0, S::finished, R::exited}, Row{"exited", 44, S::error, R::exited},
          Row{"signaled", 137, S::error, R::signaled}, Row{"timedOut", 124, S::error, R::timed_out},
          Row{"outOfMemory", 137, S::error, R::out_of_memory},
          Row{"killed", 137, S::error, R::killed},
          Row{"failedToStart", 126, S::error, R::failed_to_start}}) {
        auto record = running();
        apply_end(record, report_of("", row.kind, row.code), 5);
        EXPECT_EQ(record.status, row.status) << row.kind;
        EXPECT_EQ(record.end_reason, row.reason) << row.kind;
        EXPECT_EQ(record.exit_code, row.code) << row.kind;
        EXPECT_EQ(record.ended_at, 5);
    }
}

TEST(CommandResult, AbortedAndCanceledHaveNoCode) {
    auto aborted = running();
    apply_abort(aborted, "the capsule was stopped", 5);
    EXPECT_EQ(aborted.status, model::CommandStatus::aborted);
    EXPECT_EQ(aborted.end_reason, model::EndReason::capsule_ended);
    EXPECT_FALSE(aborted.exit_code);
    model::CommandRecord queued(protocol::CommandId::random(), RunId::random());
    apply_cancel(queued, 5);
    EXPECT_EQ(queued.status, model::CommandStatus::error);
    EXPECT_EQ(queued.end_reason, model::EndReason::canceled);
    EXPECT_FALSE(queued.exit_code);
}

TEST(StartRequest, FallsBackToTheDefaultUserAndTheRecipesFolder) {
    model::Definition definition;
    definition.working_directory = "/srv";
    auto record = running();
    record.command = "id";
    record.max_duration_ms = 7;
    auto request = start_request(record, definition);
    EXPECT_EQ(request.user, "maitento");
    EXPECT_EQ(request.working_directory, "/srv");
    EXPECT_EQ(request.limit_ms, 7u);
    record.run_as_user = "builder";
    record.working_directory = "/tmp";
    request = start_request(record, definition);
    EXPECT_EQ(request.user, "builder");
    EXPECT_EQ(request.working_directory, "/tmp");
}

}  // namespace
}  // namespace host::sandbox
