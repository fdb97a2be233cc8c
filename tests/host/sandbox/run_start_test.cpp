#include "support/world.hpp"

#include <gmock/gmock.h>

namespace host::sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

model::QualifiedName in_default(std::string name) {
    model::QualifiedName qualified;
    qualified.space = "default";
    qualified.name = std::move(name);
    return qualified;
}

model::Definition full_definition() {
    model::Definition definition;
    definition.users = {"builder", "sandbox"};
    definition.packages = {"jq", "sqlite3"};
    model::VfsMount mount;
    mount.vfs = in_default("sales-data");
    mount.mount_name = "data";
    definition.vfs.push_back(mount);
    mount.mount_name = "fixed";
    mount.read_only = true;
    definition.vfs.push_back(mount);
    model::SecretMount secret;
    secret.secret = in_default("token");
    secret.mount_name = "t1";
    definition.secrets.push_back(secret);
    model::StartupCommand startup;
    startup.command = "prepare";
    definition.startup.push_back(startup);
    return definition;
}

class RunStart : public ::testing::Test, public World {
  protected:
    RunStart() {
        start_daemon();
        script = programs_succeed;
    }
    void make_references() {
        ASSERT_TRUE(*call(service->create_vfs(Principal(), in_default("sales-data"))));
        ASSERT_TRUE(service->set_secret(Principal(), in_default("token"), "v\n"));
    }
};

TEST_F(RunStart, GoesThroughItsPhasesInOrder) {
    make_references();
    define("workbench", full_definition());
    const RunId id = start("workbench");
    EXPECT_EQ(run(id).status, model::RunStatus::starting);
    settle();
    const auto inside = agent(id);
    EXPECT_EQ(run(id).phase, model::RunPhase::startup);
    EXPECT_EQ(inside->configured->run_id, "");  // no handler for the inside API here
    EXPECT_EQ(inside->configured->hostname, "workbench");
    EXPECT_THAT(inside->mounts, ElementsAre("vfs0:data", "vfs1:fixed:ro"));
    EXPECT_EQ(inside->secrets.at("t1"), "v\n");
    EXPECT_THAT(inside->programs,
                ElementsAre("useradd -m -s /bin/bash builder", "useradd -m -s /bin/bash sandbox",
                            "apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 "
                            "jq sqlite3"));
    inside->finish(inside->id_of("prepare"), "exited", 0);
    settle();
    EXPECT_EQ(run(id).status, model::RunStatus::running);
    EXPECT_TRUE(run(id).ready_at);
    EXPECT_EQ(run(id).accelerator, "tcg");
    EXPECT_TRUE(inside->commands.empty()) << "everything of the start is forgotten";
    std::vector<std::string> told;
    const auto events = **call(service->events(Principal(), 0, {}));
    for (const auto& event : events) told.push_back(event.type);
    EXPECT_THAT(told, ElementsAre("run.started", "run.phase", "run.phase", "run.phase", "run.phase",
                                  "run.ready"));
}

TEST_F(RunStart, GivesQemuAUidAndAReadOnlyFolder) {
    make_references();
    define("workbench", full_definition());
    const RunId id = start("workbench");
    settle();
    ASSERT_EQ(hypervisor.specs.size(), 1u);
    const MachineSpec& spec = hypervisor.specs[0];
    EXPECT_EQ(spec.uid, run(id).uid);
    EXPECT_GE(spec.uid, model::defaults::uid_first);
    EXPECT_EQ(spec.cpus, 1u);
    EXPECT_EQ(spec.folders.size(), 2u);
    EXPECT_EQ(disks.last_disk_bytes, 4ull << 30);
    EXPECT_THAT(spec.kernel_command_line, HasSubstr("capsule.transport=serial"));
}

TEST_F(RunStart, WaitsForTheAccelerator) {
    kill_daemon();
    start_daemon(false);
    define("empty", {});
    const RunId id = start("empty");
    settle();
    EXPECT_TRUE(hypervisor.machines.empty());
    Platform platform;
    service->set_platform(platform);
    settle();
    EXPECT_EQ(run(id).status, model::RunStatus::running);
}

TEST_F(RunStart, LetsOnlyAnEmulatedMachineKeepItsAddresses) {
    define("empty", {});
    start("empty");
    settle();
    kill_daemon();
    start_daemon(false);
    Platform platform;
    platform.accelerator = Accelerator::kvm;
    service->set_platform(platform);
    start("empty");
    settle();
    ASSERT_EQ(hypervisor.specs.size(), 2u);
    EXPECT_THAT(hypervisor.specs[0].kernel_command_line, HasSubstr(" norandmaps "));
    EXPECT_THAT(hypervisor.specs[1].kernel_command_line, Not(HasSubstr("norandmaps")));
}

TEST_F(RunStart, FailsWhenThereIsNoAccelerator) {
    kill_daemon();
    start_daemon(false);
    define("empty", {});
    const RunId id = start("empty");
    service->set_platform(protocol::fail(protocol::Kind::unavailable, "KVM does not run a guest"));
    settle();
    EXPECT_EQ(run(id).status, model::RunStatus::error);
    EXPECT_THAT(run(id).failure_details, HasSubstr("KVM does not run a guest"));
    EXPECT_TRUE(nothing_left());
}

TEST_F(RunStart, UpdatesTheListsOnceForAnUnknownPackage) {
    int installs = 0;
    script = [&installs](const protocol::CommandStart& start) {
        const bool install = start.program && start.arguments.at(0) == "install";
        if (install && ++installs == 1) {
            return std::optional(
                report_of(start.id, "exited", 100, "", "E: Unable to locate package jq\n"));
        }
        return programs_succeed(start);
    };
    model::Definition definition;
    definition.packages = {"jq"};
    define("tools", definition);
    const RunId id = start("tools");
    settle();
    EXPECT_EQ(run(id).status, model::RunStatus::running);
    EXPECT_EQ(agent(id)->programs.size(), 3u);
    EXPECT_EQ(agent(id)->programs.at(1), "apt-get update");
}

TEST_F(RunStart, NamesThePackageThatCannotBeInstalled) {
    script = [](const protocol::CommandStart& start) {
        if (start.arguments.at(0) == "update") return programs_succeed(start);
        return std::optional(report_of(start.id, "exited", 100, "",
                                       "W: noise\nE: Unable to locate package no-such-pkg-xyz\n"));
    };
    model::Definition definition;
    definition.packages = {"jq", "no-such-pkg-xyz"};
    define("tools", definition);
    const RunId id = start("tools");
    const auto waiting = exec(id, "jq --version");
    settle();
    EXPECT_EQ(run(id).status, model::RunStatus::error);
    EXPECT_EQ(run(id).failure_details,
              "Packages could not be installed (jq, no-such-pkg-xyz): "
              "E: Unable to locate package no-such-pkg-xyz");
    EXPECT_EQ(command(id, waiting).status, model::CommandStatus::aborted);
    EXPECT_TRUE(nothing_left());
}

TEST_F(RunStart, SaysWhyAUserCannotBeCreated) {
    script = [](const protocol::CommandStart& start) {
        return std::optional(
            report_of(start.id, "exited", 9, "", "useradd: group operator exists\n"));
    };
    model::Definition definition;
    definition.users = {"operator"};
    define("users", definition);
    const RunId id = start("users");
    settle();
    EXPECT_EQ(run(id).failure_details,
              "User \"operator\" could not be created: useradd: group operator exists");
}

TEST_F(RunStart, FailsWithTheTextOfAFailingStartupCommand) {
    model::Definition definition;
    model::StartupCommand startup;
    startup.command = "python3";
    startup.arguments = {"/mnt/data/x.py"};
    definition.startup.push_back(startup);
    startup.command = "never";
    definition.startup.push_back(startup);
    define("report", definition);
    const RunId id = start("report");
    const auto waiting = exec(id, "echo");
    settle();
    agent(id)->finish(agent(id)->id_of("python3"), "exited", 2, "", "no such file\n");
    settle();
    EXPECT_EQ(run(id).status, model::RunStatus::error);
    EXPECT_EQ(run(id).failure_details,
              "Startup command failed: python3 /mnt/data/x.py - no such file");
    EXPECT_EQ(agent(id)->id_of("never"), "");
    EXPECT_THAT(command(id, waiting).reason, HasSubstr("no such file"));
    EXPECT_TRUE(agent(id)->settled);
    EXPECT_TRUE(nothing_left());
}

TEST_F(RunStart, FinishesByItselfWhenAllStartupCommandsAreDone) {
    model::Definition definition;
    definition.auto_terminate = true;
    model::StartupCommand startup;
    startup.command = "background";
    startup.wait = false;
    definition.startup.push_back(startup);
    startup.command = "main";
    startup.wait = true;
    definition.startup.push_back(startup);
    define("report", definition);
    const RunId id = start("report");
    settle();
    const auto inside = agent(id);
    inside->finish(inside->id_of("main"), "exited", 0);
    settle();
    EXPECT_EQ(run(id).status, model::RunStatus::running);
    const auto outside = exec(id, "sleep 100");
    settle();
    inside->finish(inside->id_of("background"), "exited", 0);
    settle();
    EXPECT_EQ(run(id).status, model::RunStatus::finished);
    EXPECT_EQ(run(id).failure_details, "");
    EXPECT_EQ(command(id, outside).status, model::CommandStatus::aborted);
    EXPECT_TRUE(nothing_left());
}

TEST_F(RunStart, TellsOfABackgroundFailureAfterTheStart) {
    model::Definition definition;
    model::StartupCommand startup;
    startup.command = "background";
    startup.wait = false;
    definition.startup.push_back(startup);
    define("service", definition);
    const RunId id = start("service");
    settle();
    EXPECT_EQ(run(id).status, model::RunStatus::running);
    agent(id)->finish(agent(id)->id_of("background"), "exited", 1);
    settle();
    EXPECT_EQ(run(id).status, model::RunStatus::running);
    EXPECT_EQ((*call(service->events(Principal(), 0, {})))->back().type, "run.startup-failed");
}

TEST_F(RunStart, KeepsItsDefinitionWhateverIsDeployedLater) {
    model::Definition definition;
    definition.users = {"first"};
    define("keep", definition);
    const RunId id = start("keep");
    definition.users = {"second"};
    define("keep", definition);
    settle();
    EXPECT_THAT(agent(id)->programs, ElementsAre("useradd -m -s /bin/bash first"));
}

TEST_F(RunStart, RefusesWithoutRoomAndLeavesNoRow) {
    define("empty", {});
    memory.available_bytes = 100ull << 20;
    auto refused = service->start(Principal(), capsule("empty"), "");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), "no-room");
    memory.available_bytes = 15ull << 30;
    disks.free = 1;
    EXPECT_EQ(service->start(Principal(), capsule("empty"), "").error().code(), "no-room");
    disks.free = 100ull << 30;
    disks.has_image = false;
    EXPECT_EQ(service->start(Principal(), capsule("empty"), "").error().code(), "image-missing");
    EXPECT_TRUE(database_has_no_live_run());
}

TEST_F(RunStart, CountsWhatLiveRunsWerePromised) {
    define("empty", {});
    memory.total_bytes =
        model::defaults::host_memory_reserve_bytes +
        2 * (model::defaults::memory_bytes + run_memory_overhead(Accelerator::tcg));
    start("empty");
    start("empty");
    EXPECT_EQ(service->start(Principal(), capsule("empty"), "").error().code(), "no-room");
    EXPECT_LT(run_memory_overhead(Accelerator::kvm), run_memory_overhead(Accelerator::tcg));
}

TEST_F(RunStart, GivesTheSameRunForTheSameKey) {
    define("empty", {});
    define("other", {});
    auto first = service->start(Principal(), capsule("empty"), "k1");
    auto again = service->start(Principal(), capsule("empty"), "k1");
    ASSERT_TRUE(first && again);
    EXPECT_EQ(first->id, again->id);
    EXPECT_EQ(service->start(Principal(), capsule("other"), "k1").error().code(),
              "idempotency-mismatch");
    EXPECT_NE(service->start(Principal(), capsule("empty"), "k2")->id, first->id);
}

TEST_F(RunStart, RefusesWhatIsNotThere) {
    EXPECT_EQ(service->start(Principal(), capsule("absent"), "").error().code(), "not-found");
    make_references();
    define("workbench", full_definition());
    ASSERT_TRUE(service->delete_secret(Principal(), in_default("token")));
    EXPECT_EQ(service->start(Principal(), capsule("workbench"), "").error().code(), "not-found");
}

}  // namespace
}  // namespace host::sandbox
