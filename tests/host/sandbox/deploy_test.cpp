#include "support/world.hpp"

#include <gmock/gmock.h>

namespace host::sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SourceFile file(std::string path, std::string content) {
    SourceFile source;
    source.path = std::move(path);
    source.content = std::move(content);
    return source;
}

class Deploy : public ::testing::Test, public World {
  protected:
    Deploy() { start_daemon(); }
    DeployOutcome deploy(std::vector<SourceFile> files) {
        auto outcome = service->deploy(Principal(), "default", std::move(files));
        EXPECT_TRUE(outcome) << outcome.error().describe();
        return *outcome;
    }
};

TEST_F(Deploy, TellsCreatedFromUpdatedFromUnchanged) {
    const auto first = deploy({file("capsules/a.mtr", "autoTerminate = true\n"),
                               file("capsules/b.mtr", "autoTerminate = true\n")});
    EXPECT_THAT(first.report.created, ElementsAre("a", "b"));
    const auto second = deploy({file("capsules/a.mtr", "autoTerminate = false\n"),
                                file("capsules/b.mtr", "autoTerminate = true\n")});
    EXPECT_THAT(second.report.updated, ElementsAre("a"));
    EXPECT_THAT(second.report.unchanged, ElementsAre("b"));
    EXPECT_FALSE(service->capsule(Principal(), capsule("a"))->definition.auto_terminate);
}

TEST_F(Deploy, ChangesNothingWhenOneFileIsWrong) {
    const auto outcome = deploy({file("capsules/good.mtr", "autoTerminate = true\n"),
                                 file("capsules/bad.mtr", "\nmaxDuraton = \"00:05:00\"\n")});
    ASSERT_EQ(outcome.diagnostics.size(), 1u);
    EXPECT_EQ(outcome.diagnostics[0].file, "capsules/bad.mtr");
    EXPECT_EQ(outcome.diagnostics[0].line, 2u);
    EXPECT_EQ(outcome.diagnostics[0].name, "maxDuraton");
    EXPECT_TRUE(service->capsules(Principal(), "default")->empty());
}

TEST_F(Deploy, ReportsAMissingReferenceAtItsPlace) {
    const std::string text = "vfs = [\n  { vfs = @ref(\"sales-data\") mountName = \"data\" }\n]\n";
    const auto outcome = deploy({file("capsules/report.mtr", text)});
    ASSERT_EQ(outcome.diagnostics.size(), 1u);
    EXPECT_EQ(outcome.diagnostics[0].line, 2u);
    EXPECT_EQ(outcome.diagnostics[0].name, "sales-data");
    EXPECT_THAT(outcome.diagnostics[0].message, HasSubstr("does not exist"));
    ASSERT_TRUE(*call(service->create_vfs(Principal(), capsule("sales-data"))));
    EXPECT_THAT(deploy({file("capsules/report.mtr", text)}).report.created, ElementsAre("report"));
}

TEST_F(Deploy, ListsWhatItDoesNotKnow) {
    const auto outcome = deploy({file("apps/analyst/analyst.mtc", "x"), file("README.md", "x"),
                                 file("capsules/a.mtr", "autoTerminate = true\n")});
    EXPECT_THAT(outcome.report.created, ElementsAre("a"));
    EXPECT_THAT(outcome.report.skipped,
                ElementsAre("apps/analyst/analyst.mtc: apps are not supported yet",
                            HasSubstr("README.md: not a capsule definition")));
}

TEST_F(Deploy, RefusesABadName) {
    const auto outcome = deploy({file("capsules/Bad_Name.mtr", "autoTerminate = true\n")});
    ASSERT_EQ(outcome.diagnostics.size(), 1u);
    EXPECT_THAT(outcome.diagnostics[0].message, HasSubstr("not a valid capsule name"));
}

TEST_F(Deploy, NeverDeletes) {
    deploy({file("capsules/a.mtr", "autoTerminate = true\n")});
    deploy({file("capsules/b.mtr", "autoTerminate = true\n")});
    EXPECT_EQ(service->capsules(Principal(), "default")->size(), 2u);
}

}  // namespace
}  // namespace host::sandbox
