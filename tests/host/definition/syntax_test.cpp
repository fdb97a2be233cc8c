#include "tests/host/definition/support.hpp"

#include <random>

#include <gmock/gmock.h>

namespace host::definition::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Syntax, AcceptsAnEmptyFile) {
    EXPECT_THAT(accepted("").packages, IsEmpty());
    EXPECT_THAT(accepted("\n\n  // nothing here\n").packages, IsEmpty());
    EXPECT_THAT(accepted("\xEF\xBB\xBF").packages, IsEmpty());
}

TEST(Syntax, ByteOrderMarkAndCrlfReadTheSame) {
    const std::string lf =
        "// a\nmaxDuration = \"00:05:00\"\npackages = [\n  \"jq\"\n  \"sqlite3\"\n]\n";
    std::string crlf = "\xEF\xBB\xBF";
    for (const char c : lf) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
    for (const auto& text : {lf, crlf}) {
        const auto definition = accepted(text);
        EXPECT_EQ(definition.max_duration_ms, 300'000u);
        EXPECT_THAT(definition.packages, ElementsAre("jq", "sqlite3"));
    }
}

TEST(Syntax, ByteOrderMarkDoesNotShiftColumns) {
    EXPECT_EQ(place(finding("\xEF\xBB\xBFmaxDuraton = 1")), "1:1 maxDuraton");
}

TEST(Syntax, SeparatesByLineEndsOrCommas) {
    EXPECT_THAT(accepted("packages = [\"jq\", \"git\"\n\"curl\"\n, \"wget\",]").packages,
                ElementsAre("jq", "git", "curl", "wget"));
    EXPECT_TRUE(accepted("autoTerminate = true, network = \"none\",\n").auto_terminate);
}

TEST(Syntax, AcceptsATrailingComma) {
    EXPECT_THAT(accepted("packages = [\"jq\", ]").packages, ElementsAre("jq"));
}

TEST(Syntax, RefusesAMissingCommaAtItsPlace) {
    const auto found = finding("packages = [\"jq\" \"sqlite3\"]");
    EXPECT_EQ(found.file, "capsules/x.mtr");
    EXPECT_EQ(place(found), "1:18 packages");
    EXPECT_THAT(found.message, HasSubstr("','"));
    EXPECT_THAT(found.message, HasSubstr("sqlite3"));
}

TEST(Syntax, RefusesTwoAssignmentsOnOneLine) {
    EXPECT_EQ(place(finding("autoTerminate = true network = \"none\"")), "1:22 autoTerminate");
}

TEST(Syntax, RefusesEmptyItems) {
    EXPECT_EQ(place(finding("packages = [\"jq\",,\"git\"]")), "1:18 packages");
    EXPECT_EQ(place(finding("packages = [,\"git\"]")), "1:13 packages");
}

TEST(Syntax, EntriesOfAnObjectOnOneLineNeedNoComma) {
    const auto definition = accepted("vfs = [ { vfs = @ref(\"x\") mountName = \"y\" } ]");
    ASSERT_THAT(definition.vfs, SizeIs(1));
    EXPECT_EQ(definition.vfs[0].mount_name, "y");
}

TEST(Syntax, CommentsDoNotReachIntoStrings) {
    const auto definition = accepted(
        "startup = [ { command = \"bash\", arguments = [\"-c\", \"echo http://x // y > /tmp/u\"] } "
        "] // end");
    ASSERT_THAT(definition.startup, SizeIs(1));
    EXPECT_THAT(definition.startup[0].arguments, ElementsAre("-c", "echo http://x // y > /tmp/u"));
}

TEST(Syntax, DecodesJsonEscapes) {
    const auto definition = accepted(
        R"(environment = { A = "q\" b\\ s\/ \b\f\n\r\t \u0041\u00e9\u20ac\ud83d\ude00" })");
    ASSERT_THAT(definition.environment, SizeIs(1));
    EXPECT_EQ(definition.environment[0].value, "q\" b\\ s/ \b\f\n\r\t A\u00e9\u20ac\U0001F600");
}

TEST(Syntax, RefusesMalformedStrings) {
    EXPECT_EQ(place(finding("image = \"abc\nnetwork = \"none\"")), "1:9 image");
    EXPECT_EQ(place(finding("image = \"ab\\x\"")), "1:12 image");
    EXPECT_EQ(place(finding("image = \"\\ud800\"")), "1:10 image");
    EXPECT_EQ(place(finding("image = \"\\udc00\"")), "1:10 image");
    EXPECT_EQ(place(finding("image = \"\\u12g4\"")), "1:10 image");
    EXPECT_EQ(place(finding("image = \"a\tb\"")), "1:11 image");
    EXPECT_EQ(place(finding("image = 'abc'")), "1:9 image");
}

TEST(Syntax, RefusesNumbersThatAreNotWhole) {
    for (const char* number : {"1.5", "1e3", "007", "-", "0x10", "99999999999999999999", "+1"}) {
        EXPECT_THAT(refused("resources = { cpus = " + std::string(number) + " }"), SizeIs(1))
            << number;
    }
}

TEST(Syntax, ColumnsCountCodePoints) {
    EXPECT_EQ(place(finding("environment = { A = \"\u20ac\U0001F600\", b-d = \"\" }")),
              "1:27 environment");
}

TEST(Syntax, NamesTheIllFormedByte) {
    const auto found = finding("// \u20ac\nimage = \"\xC3\x28\"");
    EXPECT_EQ(place(found), "2:10 ");
    EXPECT_THAT(found.message, HasSubstr("UTF-8"));
    EXPECT_EQ(place(finding("a\x80")), "1:2 ");
}

TEST(Syntax, RefusesRepeatedProperties) {
    const auto found = finding("image = \"a\"\nimage = \"b\"");
    EXPECT_EQ(place(found), "2:1 image");
    EXPECT_THAT(found.message, HasSubstr("line 1"));
    EXPECT_EQ(place(finding("users = [ { name = \"ann\"\n name = \"bob\" } ]")), "2:2 name");
}

TEST(Syntax, ReportsAllFindingsAndRecoversAtTheNextAssignment) {
    const auto findings = refused(
        "vfs = [ { vfs = @ref(\"x\" }\n]\n"
        "maxDuration = \"5m\"\n"
        "packages = [\"jq\" \"git\"]\n"
        "colour = 3\n");
    ASSERT_THAT(findings, SizeIs(4));
    EXPECT_EQ(findings[0].line, 1u);
    EXPECT_EQ(findings[1].line, 4u);  // syntax first, then meaning
    EXPECT_EQ(findings[2].line, 3u);
    EXPECT_EQ(findings[3].line, 5u);
}

TEST(Syntax, ReportsAtMostTwentyFindings) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "p" + std::to_string(i) + " = 1\n";
    EXPECT_THAT(refused(text), SizeIs(20));
}

TEST(Syntax, LimitsDepthAndSize) {
    EXPECT_THAT(finding("packages = " + std::string(100'000, '[')).message, HasSubstr("nested"));
    EXPECT_THAT(finding("packages = " + std::string(20, '[') + std::string(20, ']')).message,
                HasSubstr("nested"));
    const auto large = finding("// " + std::string((1u << 20), 'x'));
    EXPECT_EQ(place(large), "0:0 ");
}

TEST(Syntax, OddInputsNeverCrash) {
    const std::vector<std::string> odd = {
        "=",
        "@",
        "@ref",
        "@ref(",
        "@ref(\"",
        "@ref(\"a\"",
        "a",
        "a =",
        "a = @",
        "a = @ref()",
        "[",
        "{",
        "}",
        "]",
        "a = {",
        "a = { b",
        "a = { b =",
        "a = [1",
        "\"",
        "\\",
        "\"\\",
        "\"\\u",
        "\"\\u1",
        "a=\"\\ud83d\\u",
        "/",
        "//",
        "-",
        "a = -",
        ",",
        ",,",
        "a = 1,,",
        "\r",
        "\r\n",
        "a\r= 1",
        std::string("a\0b = 1", 7),
        std::string(1, '\0'),
        "true = true",
        "a = true true",
        "a = { a = { a = { } } }",
        "a = [[[[]]]]",
        "\xEF\xBB",
        "\xEF\xBB\xBF\xEF\xBB\xBF",
        "a = \n\n\n",
        "a = \n b = 1",
        "\xFF",
        "a = (1)",
    };
    for (const auto& text : odd) {
        parse(text, "f", "s");
        references(text, "s");
    }
}

TEST(Syntax, MutatedTextNeverCrashes) {
    const std::string seed =
        "// c\nvfs = [ { vfs = @ref(\"a.b\") mountName = \"y\" readOnly = true } ]\r\n"
        "startup = [ { command = \"x\", arguments = [\"\\u20ac\", \"b\"] maxDuration = "
        "\"00:01:00\" } ],\n"
        "resources = { cpus = 2 memory = \"1G\" }\n";
    std::mt19937 random(7);  // fixed: a failure can be repeated
    for (int round = 0; round < 20'000; ++round) {
        std::string text = seed;
        for (int edits = 1 + static_cast<int>(random() % 6); edits > 0 && !text.empty(); --edits) {
            const std::size_t at = random() % text.size();
            switch (random() % 3) {
                case 0:
                    text.erase(at, 1 + random() % 8);
                    break;
                case 1:
                    text[at] = static_cast<char>(random() % 256);
                    break;
                default:
                    text.insert(at, text.substr(random() % text.size(), random() % 16));
                    break;
            }
        }
        const auto result = parse(text, "f", "s");
        references(text, "s");
        if (const auto* findings = std::get_if<std::vector<sandbox::Diagnostic>>(&result)) {
            ASSERT_FALSE(findings->empty());
            ASSERT_LE(findings->size(), 20u);
        }
    }
}

}  // namespace
}  // namespace host::definition::testing
