#include "sdk/cpp/documents.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

namespace {

namespace json = boost::json;

TEST(Documents, ReadsACommandAndKeepsWhatItDoesNotKnow) {
    const auto command = sdk::read_command(json::parse(R"({
        "id": "c", "runId": "r", "sequence": 4, "command": "ls", "arguments": ["-l", ""],
        "async": true, "status": "Error", "endReason": "exited", "exitCode": 3,
        "outputStandard": "x", "outputStandardFullLength": 70003, "someday": {"new": 1}})"));
    ASSERT_TRUE(command);
    EXPECT_EQ(command->sequence, 4u);
    EXPECT_EQ(command->arguments, (std::vector<std::string>{"-l", ""}));
    EXPECT_TRUE(command->async);
    EXPECT_EQ(command->exit_code, 3);
    EXPECT_EQ(command->output_standard_full_length, 70'003u);
    EXPECT_FALSE(command->output_error_full_length);
    EXPECT_TRUE(command->has_ended());
    EXPECT_TRUE(command->document.contains("someday"));
}

TEST(Documents, ReadsARunsStatus) {
    const auto run = [](const char* status) {
        json::object object;
        object["id"] = "r";
        object["status"] = status;
        return sdk::read_run(object).value();
    };
    EXPECT_FALSE(run("Starting").has_started());
    EXPECT_TRUE(run("Running").has_started());
    EXPECT_FALSE(run("Running").has_ended());
    for (const char* status : {"Finished", "Error", "Terminated"}) {
        EXPECT_TRUE(run(status).has_ended()) << status;
    }
}

TEST(Documents, NamesThatAreNotTextComeAsBase64) {
    const auto entry = sdk::read_vfs_entry(json::parse(
        R"({"name": "?", "nameBase64": "YWL/Cg==", "type": "file", "size": 9, "mode": "0664"})"));
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->name, "ab\xFF\n");
    EXPECT_EQ(entry->size, 9u);
}

TEST(Documents, RefusesAnswersOfAnotherShape) {
    EXPECT_FALSE(sdk::read_run(json::parse("[]")));
    EXPECT_FALSE(sdk::read_run(json::parse(R"({"id": "r"})")));
    EXPECT_FALSE(sdk::read_command(json::parse("null")));
    EXPECT_FALSE(sdk::read_page<sdk::Run>(json::parse(R"({"items": 3})"), "items", sdk::read_run));
}

TEST(Documents, WritesOnlyWhatWasAskedFor) {
    sdk::ExecRequest request;
    request.command = "true";
    EXPECT_EQ(json::serialize(sdk::write_exec_request(request)), R"({"command":"true"})");
    request.arguments = {"", "a b"};
    request.max_duration = std::chrono::milliseconds(1500);
    request.environment = {{"A", "1=2"}};
    request.input = sdk::ExecRequest::Input::pipe;
    request.terminal = sdk::TerminalSize(40, 100);
    EXPECT_EQ(json::serialize(sdk::write_exec_request(request)),
              R"({"command":"true","arguments":["","a b"],"maxDuration":1500,)"
              R"("environment":{"A":"1=2"},"stdin":"pipe","terminal":{"rows":40,"columns":100}})");
}

}  // namespace
