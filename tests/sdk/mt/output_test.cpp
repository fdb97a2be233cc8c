#include "sdk/mt/output.hpp"

#include <algorithm>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

namespace {

TEST(Table, AlignsColumnsByCharacters) {
    mt::Table table({"NAME", "SIZE"});
    table.add({"na\xC3\xAFve", "1"});
    table.add({"a-longer-name", "22"});
    EXPECT_EQ(table.render(true),
              "NAME           SIZE\n"
              "na\xC3\xAFve          1\n"
              "a-longer-name  22\n");
}

TEST(Table, LeavesNoBlanksAtTheEndOfALine) {
    mt::Table table({"NAME", "SIZE", "NOTE"});
    table.add({"a", "", ""});
    table.add({"b", "", "x"});
    EXPECT_EQ(table.render(true), "NAME  SIZE  NOTE\na\nb           x\n");
}

TEST(Table, KeepsOneRowALine) {
    mt::Table table({"NAME"});
    table.add({"two\nlines"});
    for (const bool terminal : {true, false}) {
        const std::string text = table.render(terminal);
        EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << terminal;
    }
}

TEST(Presentable, GuardsTerminalsAndLeavesPipesAlone) {
    const std::string hostile = "a\x1b[2Jb\tc\nd\xFF";
    EXPECT_EQ(mt::presentable(hostile, false), hostile);
    const std::string shown = mt::presentable(hostile, true);
    EXPECT_EQ(shown.find('\x1b'), std::string::npos);
    EXPECT_EQ(shown.find('\xFF'), std::string::npos);
    EXPECT_NE(shown.find("b\tc\nd"), std::string::npos);
    EXPECT_EQ(mt::presentable(std::string(100'000, 'x'), true).size(), 100'000u);
}

TEST(PrettyJson, KeepsMembersInOrder) {
    EXPECT_EQ(mt::pretty_json(boost::json::parse(R"({"b":[1,{}],"a":"x\n","c":[]})")),
              "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": \"x\\n\",\n  \"c\": []\n}\n");
}

TEST(FormatSize, RoundsToOneDigit) {
    EXPECT_EQ(mt::format_size(0), "0 B");
    EXPECT_EQ(mt::format_size(1023), "1023 B");
    EXPECT_EQ(mt::format_size(1536), "1.5 KiB");
    EXPECT_EQ(mt::format_size(5u << 20), "5.0 MiB");
}

}  // namespace
