#include "sdk/mt/arguments.hpp"

#include <set>

#include <gtest/gtest.h>

namespace {

using mt::Arguments;
using Words = std::vector<std::string>;

TEST(Arguments, NounVerbAndNounDashVerbAreTheSame) {
    for (const Words& words : {Words{"capsule", "run", "x"}, Words{"capsule-run", "x"}}) {
        const auto arguments = Arguments::parse(words);
        ASSERT_TRUE(arguments) << words[0];
        EXPECT_EQ(arguments->spec().noun, "capsule");
        EXPECT_EQ(arguments->spec().verb, "run");
        EXPECT_EQ(arguments->positional(0), "x");
    }
}

TEST(Arguments, OptionsMayStandAnywhere) {
    for (const Words& words : {Words{"vfs", "ls", "-l", "data", "/sub", "--namespace", "n"},
                               Words{"vfs", "ls", "data", "--namespace=n", "/sub", "-l"},
                               Words{"vfs", "ls", "-ln", "n", "data", "/sub"},
                               Words{"vfs", "ls", "-lnn", "data", "/sub"}}) {
        const auto arguments = Arguments::parse(words);
        ASSERT_TRUE(arguments) << arguments.error().message();
        EXPECT_EQ(arguments->positional(1), "/sub");
        EXPECT_EQ(arguments->value("namespace"), "n");
        EXPECT_TRUE(arguments->has("long"));
    }
}

TEST(Arguments, WhatFollowsTheDashesIsUntouched) {
    const auto arguments = Arguments::parse(
        {"exec", "-it", "run-1", "--user", "sandbox", "--", "grep -c", "--help", "", "--"});
    ASSERT_TRUE(arguments);
    EXPECT_TRUE(arguments->has("interactive") && arguments->has("tty"));
    EXPECT_EQ(arguments->value("user"), "sandbox");
    EXPECT_EQ(arguments->rest(), (Words{"grep -c", "--help", "", "--"}));
}

TEST(Arguments, ACommandEndsTheOptionsWithoutDashesToo) {
    const auto arguments = Arguments::parse({"exec", "run-1", "ls", "-l", "--", "x"});
    ASSERT_TRUE(arguments);
    EXPECT_EQ(arguments->rest(), (Words{"ls", "-l", "--", "x"}));
    EXPECT_FALSE(arguments->has("long"));
}

TEST(Arguments, DashesBeforeThePositionalsEndTheOptions) {
    const auto arguments = Arguments::parse({"vfs", "rm", "--", "data", "-rf"});
    ASSERT_TRUE(arguments);
    EXPECT_EQ(arguments->positional(1), "-rf");
}

TEST(Arguments, ASingleDashIsAWord) {
    const auto arguments = Arguments::parse({"vfs", "get", "data", "/x", "-"});
    ASSERT_TRUE(arguments);
    EXPECT_EQ(arguments->positional(2), "-");
}

TEST(Arguments, RepeatableOptionsKeepEveryValue) {
    const auto arguments =
        Arguments::parse({"exec", "r", "-e", "A=1", "--env=B=2", "-eC=", "--", "x"});
    ASSERT_TRUE(arguments);
    EXPECT_EQ(arguments->values("env"), (Words{"A=1", "B=2", "C="}));
}

TEST(Arguments, RefusesWithTheWordThatIsWrong) {
    const std::vector<std::pair<Words, std::string>> cases{
        {{}, "missing"},
        {{"nonsense"}, "nonsense"},
        {{"capsule"}, "verb"},
        {{"capsule", "fly"}, "fly"},
        {{"capsule-fly"}, "capsule-fly"},
        {{"capsule", "run"}, "NAME"},
        {{"capsule", "run", "a", "b"}, "'b'"},
        {{"capsule", "run", "a", "--nope"}, "--nope"},
        {{"capsule", "run", "a", "-x"}, "-x"},
        {{"capsule", "run", "a", "--json=1"}, "no value"},
        {{"capsule", "run", "a", "--namespace"}, "NAMESPACE"},
        {{"exec", "r", "--user", "a", "--user", "b", "--", "x"}, "twice"},
        {{"exec", "r"}, "COMMAND"},
        {{"exec", "r", "--"}, "COMMAND"},
        {{"namespace", "delete", "x", "--json"}, "--json"},
    };
    for (const auto& [words, part] : cases) {
        const auto arguments = Arguments::parse(words);
        ASSERT_FALSE(arguments) << part;
        EXPECT_EQ(arguments.error().kind(), protocol::Kind::invalid_argument);
        EXPECT_NE(arguments.error().message().find(part), std::string::npos)
            << arguments.error().message();
    }
}

TEST(Arguments, HelpIsAskedForEverywhere) {
    const auto topic = [](const Words& words) {
        const auto arguments = Arguments::parse(words);
        EXPECT_TRUE(arguments && arguments->spec().noun == "help");
        return arguments->positional(0) + "/" + arguments->positional(1);
    };
    EXPECT_EQ(topic({"--help"}), "/");
    EXPECT_EQ(topic({"vfs", "--help"}), "vfs/");
    EXPECT_EQ(topic({"vfs", "put", "--help"}), "vfs/put");
    EXPECT_EQ(topic({"vfs", "put", "too", "many", "words", "here", "-h"}), "vfs/put");
    EXPECT_EQ(topic({"exec", "--help"}), "exec/");
}

TEST(CommandTable, HasNoTwoOfAKind) {
    std::set<std::pair<std::string_view, std::string_view>> commands;
    for (const mt::CommandSpec& spec : mt::command_table()) {
        EXPECT_TRUE(commands.emplace(spec.noun, spec.verb).second) << spec.noun << spec.verb;
        EXPECT_FALSE(spec.summary.empty());
        std::set<char> letters;
        std::set<std::string_view> names;
        const auto check = [&](const mt::Option& option) {
            EXPECT_TRUE(names.insert(option.name).second) << option.name;
            const bool fresh = option.letter == 0 || letters.insert(option.letter).second;
            EXPECT_TRUE(fresh) << option.name;
        };
        for (const mt::Option& option : spec.options) check(option);
        for (const mt::Option& option : mt::common_options()) check(option);
    }
}

}  // namespace
