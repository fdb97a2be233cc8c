#include "sdk/mt/help.hpp"

#include "tests/sdk/mt/program.hpp"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace {

TEST(Help, ExplainsEveryCommand) {
    for (const mt::CommandSpec& spec : mt::command_table()) {
        std::vector<std::string> words{std::string(spec.noun)};
        if (!spec.verb.empty()) words.emplace_back(spec.verb);
        words.emplace_back("--help");
        const auto outcome = program::run(words, {});
        EXPECT_EQ(outcome.code, 0) << words[0];
        EXPECT_TRUE(outcome.out.starts_with(spec.noun == "help" ? "mt talks" : "Usage: mt "))
            << outcome.out;
    }
    EXPECT_NE(program::run({"--help"}, {}).out.find("MAITENTO_URL"), std::string::npos);
}

TEST(Help, ThePageInDocsIsTheOneMtMakes) {
    std::ifstream file(PROJECT_FOLDER "/docs/cli.md");
    std::stringstream page;
    page << file.rdbuf();
    EXPECT_EQ(page.str(), mt::help_markdown()) << "run: mt help --markdown > docs/cli.md";
}

TEST(Help, WrongUsageIsExitCode2WithAHint) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                  {"nonsense"},
                                                  {"vfs"},
                                                  {"vfs", "put"},
                                                  {"help", "nonsense"}}) {
        const auto outcome = program::run(words, {});
        EXPECT_EQ(outcome.code, 2);
        EXPECT_EQ(outcome.out, "");
        EXPECT_NE(outcome.err.find("--help`"), std::string::npos) << outcome.err;
    }
    // `exec` passes codes on: its own mistakes must not look like the command's.
    EXPECT_EQ(program::run({"exec", "r"}, {}).code, 125);
    EXPECT_EQ(program::run({"runs", "list"}, {{"MAITENTO_URL", "nonsense"}}).code, 2);
}

}  // namespace
