// Which image a capsule starts from, and when one can be deleted.

#include "support/world.hpp"

#include <gmock/gmock.h>

namespace host::sandbox {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Images : public ::testing::Test, public World {
  protected:
    Images() {
        start_daemon();
        script = programs_succeed;
        settle();  // of what the start asks the workers for, nothing is open
    }
    void define_with(const std::string& name, const std::string& image) {
        model::Definition definition;
        definition.image = image;
        define(name, std::move(definition));
    }
    Result<model::NamespaceRecord> use(const std::string& image) {
        return *call(service->set_default_image(Principal(), "default", image));
    }
    Result<ImageInfo> remove(const std::string& image, const Principal& who = Principal()) {
        return *call(service->delete_image(who, image));
    }
};

TEST_F(Images, ACapsuleStartsFromItsOwnElseTheNamespacesElseTheHosts) {
    define_with("plain", "");
    define_with("named", "full");
    define_with("pinned", "full-000000000002");
    EXPECT_EQ(run(start("plain")).definition.image, "base-000000000001");
    EXPECT_EQ(run(start("named")).definition.image, "full-000000000001");
    EXPECT_EQ(run(start("pinned")).definition.image, "full-000000000002");
    ASSERT_TRUE(use("full-000000000002"));
    EXPECT_EQ(run(start("plain")).definition.image, "full-000000000002");
    EXPECT_EQ(run(start("named")).definition.image, "full-000000000001");
    ASSERT_TRUE(use(""));
    EXPECT_EQ(run(start("plain")).definition.image, "base-000000000001");
    settle();
    EXPECT_THAT(disks.verified, Contains("full-000000000002"));
}

TEST_F(Images, ADefaultThatIsNotThereIsRefusedAndSurvivesARestartIfItIs) {
    EXPECT_EQ(use("studio").error().kind(), protocol::Kind::not_found);
    const auto set = use("full");
    ASSERT_TRUE(set);
    EXPECT_EQ(set->image, "full");
    kill_daemon();
    start_daemon();
    EXPECT_EQ((*service->namespaces(Principal())).at(0).image, "full");
    EXPECT_EQ(call(service->set_default_image(Principal(), "nowhere", "full"))->error().code(),
              "not-found");
}

TEST_F(Images, AMissingImageIsHeardAtTheStart) {
    define_with("studio", "studio");
    const auto refused = service->start(Principal(), capsule("studio"), "");
    EXPECT_EQ(refused.error().code(), "image-missing");
    EXPECT_THAT(refused.error().message(), HasSubstr("studio"));
    EXPECT_TRUE(nothing_left());
}

TEST_F(Images, ADamagedImageFailsTheRunBeforeAMachineIsMade) {
    disks.damaged.insert("full-000000000001");
    define_with("named", "full");
    const RunId id = start("named");
    settle();
    EXPECT_EQ(run(id).status, model::RunStatus::error);
    EXPECT_THAT(run(id).failure_details, HasSubstr("full-000000000001 is damaged"));
    EXPECT_TRUE(hypervisor.specs.empty());
    EXPECT_TRUE(nothing_left());
}

TEST_F(Images, ARestartedDaemonGoesOnWithTheVersionOfTheRun) {
    kill_daemon();
    start_daemon(false);
    define_with("named", "full");
    const RunId id = start("named");
    disks.store.at(1).current = false;
    disks.store.at(2).current = true;
    kill_daemon();
    disks.verified.clear();
    start_daemon();
    settle();
    EXPECT_EQ(run(id).definition.image, "full-000000000001");
    EXPECT_THAT(disks.verified, ElementsAre("full-000000000001"));
}

TEST_F(Images, OneThatALiveRunUsesIsNotDeleted) {
    define_with("pinned", "full-000000000002");
    const RunId id = start("pinned");
    settle();
    const auto refused = remove("full-000000000002");
    EXPECT_EQ(refused.error().code(), "in-use");
    EXPECT_THAT(refused.error().message(), HasSubstr(id.str()));
    EXPECT_TRUE(remove("full-000000000001")) << "another version of it is free";
    call(service->terminate(Principal(), id));
    const auto removed = remove("full-000000000002");
    ASSERT_TRUE(removed) << removed.error().describe();
    EXPECT_EQ(removed->version, "full-000000000002");
    EXPECT_EQ(disks.store.size(), 1u);
    EXPECT_EQ(remove("full-000000000002").error().code(), "not-found");
}

TEST_F(Images, OneThatIsANamespacesDefaultIsNotDeleted) {
    ASSERT_TRUE(use("full"));
    EXPECT_EQ(remove("full-000000000001").error().code(), "in-use");
    EXPECT_TRUE(remove("full-000000000002"));
    ASSERT_TRUE(use(""));
    EXPECT_TRUE(remove("full"));
}

TEST_F(Images, NothingStartsFromOneThatIsBeingDeleted) {
    define_with("pinned", "full-000000000002");
    settle();              // the start of the daemon has work of its own
    workers->hang_at = 2;  // the list comes back, the removal does not
    EXPECT_FALSE(call(service->delete_image(Principal(), "full-000000000002")));
    const auto started = service->start(Principal(), capsule("pinned"), "");
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code(), "image-missing");
    EXPECT_EQ(remove("full-000000000002").error().code(), "in-use");
    workers->release();
    settle();
    EXPECT_EQ(disks.store.size(), 2u);
}

TEST_F(Images, OnlyAnAdministratorDeletes) {
    Principal scoped;
    scoped.may_administer = false;
    EXPECT_EQ(remove("full", scoped).error().code(), "forbidden");
    EXPECT_TRUE(call(service->images(scoped))->has_value());
    EXPECT_EQ((*call(service->image(scoped, "full")))->version, "full-000000000001");
}

}  // namespace
}  // namespace host::sandbox
