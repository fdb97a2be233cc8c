#include "host/guest/report_check.hpp"

#include "protocol/base/ids.hpp"
#include "protocol/wire/limits.hpp"

#include <gtest/gtest.h>

namespace host::guest {
namespace {

using protocol::CommandReport;
using protocol::Kind;

CommandReport honest() {
    CommandReport report;
    report.id = "a";
    report.kind = "exited";
    report.output.window = "abc";
    report.output.characters = 3;
    report.output.bytes = 3;
    return report;
}

Result<CommandReport> check(CommandReport report) {
    return check_report(std::move(report), "a", ReportOf::ended_command);
}

TEST(ReportCheck, LeavesAnHonestReportAlone) {
    const auto checked = check(honest());
    ASSERT_TRUE(checked);
    EXPECT_EQ(checked->output.window, "abc");
    EXPECT_EQ(checked->output.characters, 3u);
}

TEST(ReportCheck, RefusesAnotherCommandsReport) {
    auto report = honest();
    report.id = "b";
    EXPECT_EQ(check(report).error().kind(), Kind::protocol_violation);
}

TEST(ReportCheck, RefusesCodesThatNoProcessHas) {
    for (const int code : {-1, 256, 300, 1 << 30}) {
        auto report = honest();
        report.code = code;
        EXPECT_FALSE(check(report)) << code;
    }
    auto report = honest();
    report.code = 255;
    EXPECT_TRUE(check(report));
    report.signal = 65;
    EXPECT_FALSE(check(report));
    report.signal = 0;
    EXPECT_FALSE(check(report));
    report.signal = 9;
    EXPECT_TRUE(check(report));
}

TEST(ReportCheck, RefusesUnknownEndsAndRunningWhereAnEndIsDue) {
    auto report = honest();
    report.kind = "succeeded";
    EXPECT_FALSE(check(report));
    report.kind = "";
    EXPECT_FALSE(check(report));
    EXPECT_TRUE(check_report(report, "a", ReportOf::any_command));
}

TEST(ReportCheck, CutsTheWindowToItsLastCharacters) {
    auto report = honest();
    const auto limit = protocol::limits::output_window_characters;
    report.output.window = "\xC3\xA4";  // a-umlaut, then one character too many
    report.output.window += std::string(limit - 1, 'x') + "\xE2\x82\xAC";
    report.output.characters = 5;  // fewer than it shows
    const auto checked = check(report);
    ASSERT_TRUE(checked);
    EXPECT_EQ(checked->output.window, std::string(limit - 1, 'x') + "\xE2\x82\xAC");
    EXPECT_EQ(checked->output.characters, limit);
    EXPECT_GE(checked->output.bytes, checked->output.characters);
}

TEST(ReportCheck, KeepsAWindowOfExactlyTheLimit) {
    auto report = honest();
    std::string euros;
    for (std::size_t i = 0; i < protocol::limits::output_window_characters; ++i)
        euros += "\xE2\x82\xAC";
    report.error.window = euros;
    report.error.characters = 1'000'000;
    report.error.bytes = 3'000'000;
    const auto checked = check(report);
    ASSERT_TRUE(checked);
    EXPECT_EQ(checked->error.window, euros);
    EXPECT_EQ(checked->error.characters, 1'000'000u);
}

TEST(ReportCheck, ReplacesWhatIsNotUtf8) {
    auto report = honest();
    report.output.window = "a\xFF";
    const auto checked = check(report);
    ASSERT_TRUE(checked);
    EXPECT_EQ(checked->output.window, "a\xEF\xBF\xBD");
}

TEST(ReportCheck, BoundsNumbersToWhatADatabaseHolds) {
    auto report = honest();
    report.output.characters = UINT64_MAX;
    report.output.bytes = 0;
    report.run_time_ms = UINT64_MAX;
    report.peak_memory_bytes = UINT64_MAX;
    const auto checked = check(report);
    ASSERT_TRUE(checked);
    const auto largest = static_cast<std::uint64_t>(INT64_MAX);
    EXPECT_EQ(checked->output.characters, largest);
    EXPECT_EQ(checked->output.bytes, largest);
    EXPECT_EQ(checked->run_time_ms, largest);
    EXPECT_EQ(checked->peak_memory_bytes, largest);
}

TEST(ReportCheck, CutsMessagesAtACharacter) {
    auto report = honest();
    report.message = std::string(guest_text_bytes - 1, 'x') + "\xE2\x82\xAC";
    const auto checked = check(report);
    ASSERT_TRUE(checked);
    EXPECT_EQ(*checked->message, std::string(guest_text_bytes - 1, 'x'));
}

TEST(HelloCheck, WantsABootId) {
    protocol::Hello hello;
    EXPECT_EQ(check_hello(hello).error().kind(), Kind::protocol_violation);
    hello.boot_id = "../../etc/passwd";
    EXPECT_EQ(check_hello(hello).error().kind(), Kind::protocol_violation);
    hello.boot_id = protocol::BootId::random().str();
    hello.software = "agent\n\x1b[2J";
    const auto checked = check_hello(hello);
    ASSERT_TRUE(checked);
    EXPECT_EQ(checked->software.find('\n'), std::string::npos);
    EXPECT_EQ(checked->software.find('\x1b'), std::string::npos);
}

TEST(FailureCheck, LetsAnAgentSpeakForItselfOnly) {
    protocol::RemoteFailure remote;
    remote.kind = "unauthenticated";
    EXPECT_EQ(checked_failure(remote).kind(), Kind::io);
    remote.kind = protocol::to_string(Kind::not_found);
    EXPECT_EQ(checked_failure(remote).kind(), Kind::not_found);
    remote.message = std::string(100'000, 'x');
    EXPECT_LE(checked_failure(remote).message().size(), guest_text_bytes + 3);
}

TEST(NoticeCheck, KnowsItsActions) {
    protocol::PowerNotice notice;
    notice.action = "explode";
    EXPECT_FALSE(check_notice(notice));
    notice.action = "deadline";
    EXPECT_TRUE(check_notice(notice));
}

}  // namespace
}  // namespace host::guest
