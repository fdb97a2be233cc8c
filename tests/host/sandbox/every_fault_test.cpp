// The N-th call to the outside fails, for every N: the run ends as Error with a reason, and nothing
// of it is left.

#include "support/world.hpp"

#include <gmock/gmock.h>

namespace host::sandbox {
namespace {

TEST(EveryFault, OfTheStartLeavesNothing) {
    std::size_t last = 1;
    for (std::size_t fault = 1; fault <= last; ++fault) {
        World world;
        world.start_daemon();
        world.script = programs_succeed;
        model::QualifiedName name = world.capsule("data");
        ASSERT_TRUE(*world.call(world.service->create_vfs(Principal(), name)));
        ASSERT_TRUE(world.service->set_secret(Principal(), name, "v"));
        model::Definition definition;
        definition.users = {"builder"};
        definition.packages = {"jq"};
        model::VfsMount mount;
        mount.vfs = name;
        mount.mount_name = "data";
        definition.vfs.push_back(mount);
        model::SecretMount secret;
        secret.secret = name;
        secret.mount_name = "s";
        definition.secrets.push_back(secret);
        world.define("full", definition);
        world.faults.calls.clear();
        world.faults.fail_at = fault;
        const RunId id = world.start("full");
        const auto waiting = world.exec(id, "echo");
        world.advance(10'000);
        if (fault > world.faults.calls.size()) {
            EXPECT_EQ(world.run(id).status, model::RunStatus::running);
            EXPECT_GE(fault, 9u) << "the scenario is as long as it looks";
            break;
        }
        last = fault + 1;
        const std::string call = world.faults.calls.at(fault - 1);
        if (world.run(id).status == model::RunStatus::running) {
            // The one call that belongs to the command: that alone has failed.
            EXPECT_EQ(call, "run");
            EXPECT_EQ(world.command(id, waiting).status, model::CommandStatus::error);
            continue;
        }
        EXPECT_EQ(world.run(id).status, model::RunStatus::error) << call;
        EXPECT_THAT(world.run(id).failure_details, ::testing::HasSubstr("fault in " + call));
        EXPECT_EQ(world.command(id, waiting).status, model::CommandStatus::aborted) << call;
        EXPECT_TRUE(world.nothing_left()) << call;
    }
}

TEST(EveryFault, OfMakingAFileSystemLeavesNoRecord) {
    World world;
    world.start_daemon();
    world.faults.fail_at = 1;
    const auto name = world.capsule("data");
    EXPECT_FALSE(*world.call(world.service->create_vfs(Principal(), name)));
    EXPECT_TRUE(world.service->vfs_list(Principal(), "default")->empty());
    world.kill_daemon();
    world.start_daemon();
    world.settle();
    EXPECT_TRUE(world.vfs_folders.empty()) << "the next start removes what was half-made";
    EXPECT_TRUE(*world.call(world.service->create_vfs(Principal(), name)));
    EXPECT_EQ(world.vfs_folders.size(), 1u);
}

}  // namespace
}  // namespace host::sandbox
