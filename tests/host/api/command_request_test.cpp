#include "host/api/command_request.hpp"

#include <gmock/gmock.h>

namespace host::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
    const auto parsed = parse_command(text);
    EXPECT_FALSE(parsed) << text;
    return parsed ? "" : parsed.error().message();
}

TEST(CommandRequest, ReadsAllMembers) {
    const auto parsed = parse_command(
        R"({"command": "cat -", "arguments": ["a b", "", "$x"], "runAsUser": "sandbox",
        "maxDuration": "00:01:00", "async": true, "environment": {"A": "1", "B": ""}, "workingDirectory": "/tmp",
        "stdin": "pipe", "holdOutput": true, "terminal": {"rows": 10, "columns": 20}})");
    ASSERT_TRUE(parsed) << parsed.error().describe();
    const auto& request = *parsed;
    EXPECT_EQ(request.command, "cat -");
    EXPECT_THAT(request.arguments, ElementsAre("a b", "", "$x"));
    EXPECT_EQ(request.run_as_user, "sandbox");
    EXPECT_EQ(request.max_duration_ms, 60'000u);
    EXPECT_TRUE(request.async);
    EXPECT_EQ(request.environment.at(0).name, "A");
    EXPECT_EQ(request.environment.at(1).value, "");
    EXPECT_EQ(request.working_directory, "/tmp");
    EXPECT_TRUE(request.input);
    EXPECT_TRUE(request.hold_output);
    EXPECT_EQ(request.terminal->rows, 10u);
    EXPECT_FALSE(request.input_text);
}

TEST(CommandRequest, OnlyTheCommandIsNeeded) {
    const auto parsed = parse_command(R"({"command": "true"})");
    ASSERT_TRUE(parsed);
    EXPECT_FALSE(parsed->async);
    EXPECT_FALSE(parsed->input);
    EXPECT_FALSE(parsed->max_duration_ms);
    EXPECT_FALSE(parse_command("{}"));
}

TEST(CommandRequest, ReadsStandardInput) {
    EXPECT_FALSE(parse_command(R"({"command": "cat", "stdin": "none"})")->input);
    const auto text = parse_command(R"({"command": "cat", "stdin": {"text": "a\u0000b"}})");
    ASSERT_TRUE(text);
    EXPECT_TRUE(text->input);
    EXPECT_EQ(*text->input_text, std::string("a\0b", 3));
    for (const char* odd :
         {R"("inherit")", "1", "{}", R"({"text": 1})", R"({"text": "a", "x": 1})", "[]", "true"}) {
        EXPECT_THAT(refusal(R"({"command": "cat", "stdin": )" + std::string(odd) + "}"),
                    HasSubstr("$.stdin"))
            << odd;
    }
}

TEST(CommandRequest, RefusesOddDurations) {
    EXPECT_EQ(parse_command(R"({"command": "x", "maxDuration": 1500})")->max_duration_ms, 1500u);
    for (const char* odd : {"0", "-1", "1.5", R"("5m")", R"("00:00:00")", "86400001", "true", "1e3",
                            "99999999999999999999", "{}"}) {
        EXPECT_THAT(refusal(R"({"command": "x", "maxDuration": )" + std::string(odd) + "}"),
                    HasSubstr("$.maxDuration"))
            << odd;
    }
}

TEST(CommandRequest, RefusesNulNamingTheMember) {
    EXPECT_THAT(refusal(R"({"command": "echo", "arguments": ["ok", "a\u0000b"]})"),
                HasSubstr("$.arguments[1]"));
    EXPECT_THAT(refusal(R"({"command": "echo", "arguments": ["\u0000"]})"),
                HasSubstr("$.arguments[0]"));
    EXPECT_THAT(refusal(R"({"command": "e\u0000"})"), HasSubstr("$.command"));
    EXPECT_THAT(refusal(R"({"command": "e", "runAsUser": "a\u0000"})"), HasSubstr("$.runAsUser"));
    EXPECT_THAT(refusal(R"({"command": "e", "environment": {"A": "\u0000"}})"),
                HasSubstr("$.environment.A"));
    EXPECT_THAT(refusal(R"({"command": "e", "environment": {"A\u0000": "1"}})"),
                HasSubstr("$.environment."));
    EXPECT_THAT(refusal(R"({"command": "e", "workingDirectory": "/\u0000"})"),
                HasSubstr("$.workingDirectory"));
}

TEST(CommandRequest, RefusesWrongTypesAndUnknownMembers) {
    for (const char* odd :
         {R"({"command": 1})", R"({"command": ""})", R"({"command": "  "})",
          R"({"command": "x", "arguments": "a"})", R"({"command": "x", "arguments": [1]})",
          R"({"command": "x", "async": "true"})", R"({"command": "x", "environment": ["A=1"]})",
          R"({"command": "x", "environment": {"A": 1}})",
          R"({"command": "x", "environment": {"": "1"}})",
          R"({"command": "x", "environment": {"A=B": "1"}})",
          R"({"command": "x", "workingDirectory": "tmp"})",
          R"({"command": "x", "terminal": {"rows": 0, "columns": 1}})",
          R"({"command": "x", "terminal": {"rows": 1}})",
          R"({"command": "x", "terminal": {"rows": 70000, "columns": 1}})", "[]", "null", "1",
          "\"x\"", ""}) {
        refusal(odd);
    }
    const auto unknown = parse_command(R"({"command": "x", "runAsUsr": "sandbox"})");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code(), "unknown-member");
    EXPECT_THAT(unknown.error().message(), HasSubstr("runAsUsr"));
    EXPECT_THAT(refusal(R"({"command": "x", "command": "y"})"), HasSubstr("repeated"));
}

TEST(CommandRequest, AcceptsAnArgumentThatExecWillRefuse) {
    EXPECT_TRUE(
        parse_command(R"({"command": "x", "arguments": [")" + std::string(200'000, 'A') + "\"]}"));
}

}  // namespace
}  // namespace host::api
