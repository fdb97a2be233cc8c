// A daemon that starts over what another one has left: rows, machines and folders in every
// combination.

#include "support/world.hpp"

#include <gmock/gmock.h>

namespace host::sandbox {
namespace {

using model::CommandStatus;
using model::RunStatus;
using ::testing::HasSubstr;

class Recovery : public ::testing::Test, public World {
  protected:
    Recovery() {
        start_daemon();
        script = programs_succeed;
        model::Definition definition;
        definition.max_duration_ms = 300'000;
        define("empty", definition);
    }
    void restart() {
        kill_daemon();
        start_daemon();
        settle();
    }
    RunId running() {
        const RunId id = start("empty");
        settle();
        EXPECT_EQ(run(id).status, RunStatus::running);
        return id;
    }
    void end_well(const RunId& id) {
        auto stopped = call(service->terminate(Principal(), id));
        ASSERT_TRUE(stopped && *stopped);
        EXPECT_TRUE(nothing_left());
    }
};

TEST_F(Recovery, TakesALiveRunBackWithItsCommands) {
    const RunId id = running();
    const auto sync = exec(id, "sync");
    const auto queued = exec(id, "queued");
    settle();
    restart();
    EXPECT_EQ(run(id).status, RunStatus::running);
    EXPECT_EQ(command(id, sync).status, CommandStatus::running);
    EXPECT_EQ(command(id, queued).status, CommandStatus::queued);
    EXPECT_EQ(agent(id)->commands.at(sync.str()).started, 1);
    agent(id)->finish(sync.str(), "exited", 0, "whole");
    settle();
    EXPECT_EQ(command(id, sync).output.window, "whole");
    EXPECT_EQ(command(id, queued).status, CommandStatus::running);
    agent(id)->finish(queued.str(), "exited", 0);
    settle();
    EXPECT_EQ(command(id, queued).status, CommandStatus::finished);
    end_well(id);
}

TEST_F(Recovery, WaitsForAMachineThatStandsStill) {
    const RunId id = running();
    const auto one = exec(id, "one");
    settle();
    hypervisor.machines.at(id).paused = true;
    agent(id)->answers = false;
    restart();
    EXPECT_EQ(run(id).status, RunStatus::running);
    EXPECT_EQ(agent(id)->connection, nullptr);
    hypervisor.machines.at(id).paused = false;
    agent(id)->answers = true;
    service->on_machine_paused(id, false);
    settle();
    agent(id)->finish(one.str(), "exited", 0);
    settle();
    EXPECT_EQ(command(id, one).status, CommandStatus::finished);
    end_well(id);
}

TEST_F(Recovery, EndsAMachineThatStandsStillWhenAskedTo) {
    const RunId id = running();
    hypervisor.machines.at(id).paused = true;
    agent(id)->answers = false;
    restart();
    end_well(id);
}

TEST_F(Recovery, GivesACommandItsInputAtWhateverMomentTheDaemonDies) {
    const RunId id = running();
    for (std::size_t moment = 0; moment < 40; ++moment) {
        CommandRequest request;
        request.command = "cat";
        request.input_text = "all of it, " + std::to_string(moment);
        const auto sent = service->exec(Principal(), id, request, "");
        ASSERT_TRUE(sent);
        steps(moment);
        restart();
        const auto& inside = agent(id)->commands.at(sent->id.str());
        EXPECT_EQ(inside.input, *request.input_text) << moment;
        EXPECT_TRUE(inside.input_closed) << moment;
        EXPECT_EQ(inside.started, 1);
        agent(id)->finish(sent->id.str(), "exited", 0);
        settle();
        EXPECT_EQ(command(id, sent->id).status, CommandStatus::finished);
    }
    end_well(id);
}

TEST_F(Recovery, HearsResultsOfCommandsThatEndedMeanwhile) {
    const RunId id = running();
    const auto one = exec(id, "one");
    settle();
    kill_daemon();
    agent(id)->finish(one.str(), "exited", 5, "meanwhile");
    start_daemon();
    settle();
    EXPECT_EQ(command(id, one).exit_code, 5);
    EXPECT_EQ(command(id, one).output.window, "meanwhile");
    EXPECT_TRUE(agent(id)->forgotten.contains(one.str()));
}

TEST_F(Recovery, DoesNotRunAgainWhatWasForgottenJustBefore) {
    const RunId id = running();
    const auto one = exec(id, "one");
    settle();
    agent(id)->finish(one.str(), "exited", 0);
    settle();
    ASSERT_TRUE(database.set_held(one, true));  // the confirmation was not stored
    restart();
    EXPECT_EQ(agent(id)->order.size(), 1u);
    EXPECT_TRUE(database.held_commands(id)->empty());
    end_well(id);
}

TEST_F(Recovery, AMachineThatIsGoneIsAnError) {
    const RunId id = running();
    const auto one = exec(id, "one");
    settle();
    kill_daemon();
    hypervisor.machines.clear();
    start_daemon();
    settle();
    EXPECT_EQ(run(id).status, RunStatus::error);
    EXPECT_EQ(run(id).failure_details, "the machine was gone when the daemon came back");
    EXPECT_EQ(command(id, one).status, CommandStatus::aborted);
    EXPECT_TRUE(nothing_left());
}

TEST_F(Recovery, ConcludesNothingWhileLibvirtIsAway) {
    const RunId id = running();
    kill_daemon();
    hypervisor.away = true;
    start_daemon();
    advance(10'000);
    EXPECT_EQ(run(id).status, RunStatus::running);
    const auto one = exec(id, "waits");
    settle();
    EXPECT_EQ(command(id, one).status, CommandStatus::queued);
    hypervisor.away = false;
    service->on_reconnect();
    settle();
    EXPECT_EQ(command(id, one).status, CommandStatus::running);
    end_well(id);
}

TEST_F(Recovery, StoppedWhileLibvirtIsAwayItEndsLater) {
    const RunId id = running();
    kill_daemon();
    hypervisor.away = true;
    start_daemon();
    settle();
    bool stopped = false;
    later(service->terminate(Principal(), id), [&](Result<model::RunRecord> record) {
        stopped = record && record->status == RunStatus::terminated;
    });
    settle();
    hypervisor.away = false;
    service->on_reconnect();
    settle();
    EXPECT_TRUE(stopped);
    EXPECT_TRUE(agent(id)->settled);
    EXPECT_TRUE(nothing_left());
}

TEST_F(Recovery, AHostThatWasRestartedEndsEverything) {
    const RunId id = running();
    kill_daemon();
    hypervisor.machines.clear();
    clock.reboot();
    start_daemon();
    settle();
    EXPECT_EQ(run(id).status, RunStatus::error);
    EXPECT_THAT(run(id).failure_details, HasSubstr("host was restarted"));
    EXPECT_TRUE(nothing_left());
}

TEST_F(Recovery, PastTheDeadlineItCollectsFirst) {
    const RunId id = running();
    const auto ended = exec(id, "ended", true);
    const auto open = exec(id, "open", true);
    const auto killed = exec(id, "killed by the agent's deadline", true);
    settle();
    kill_daemon();
    agent(id)->finish(ended.str(), "exited", 4, "before");
    agent(id)->finish(killed.str(), "killed", 137);
    clock.set(clock.boottime_ms() + 400'000);
    start_daemon();
    settle();
    EXPECT_EQ(run(id).status, RunStatus::finished);
    EXPECT_EQ(run(id).failure_details, "reached its maxDuration of 00:05:00");
    EXPECT_EQ(command(id, ended).exit_code, 4);
    EXPECT_EQ(command(id, open).status, CommandStatus::aborted);
    EXPECT_EQ(command(id, killed).status, CommandStatus::aborted);
    EXPECT_TRUE(nothing_left());
}

TEST_F(Recovery, FinishesAnEndThatWasBegun) {
    const RunId id = running();
    auto record = run(id);
    kill_daemon();
    record.pending_status = RunStatus::terminated;
    record.failure_details = "stopped by the user";
    ASSERT_TRUE(database.update_run(record));
    start_daemon();
    settle();
    EXPECT_EQ(run(id).status, RunStatus::terminated);
    EXPECT_TRUE(agent(id)->settled);
    EXPECT_TRUE(nothing_left());
}

TEST_F(Recovery, GoesOnWithAStartWhereItWas) {
    script = nullptr;
    model::Definition definition;
    definition.packages = {"jq"};
    model::StartupCommand startup;
    startup.command = "prepare";
    definition.startup.push_back(startup);
    define("slow", definition);
    const RunId id = start("slow");
    settle();
    ASSERT_EQ(run(id).phase, model::RunPhase::packages);
    restart();
    EXPECT_EQ(run(id).status, RunStatus::starting);
    ASSERT_EQ(agent(id)->programs.size(), 1u) << "apt is attached to, not started again";
    agent(id)->finish(agent(id)->order.at(0), "exited", 0);
    settle();
    ASSERT_EQ(run(id).phase, model::RunPhase::startup);
    restart();
    EXPECT_EQ(agent(id)->order.size(), 2u);
    agent(id)->finish(agent(id)->id_of("prepare"), "exited", 0);
    settle();
    EXPECT_EQ(run(id).status, RunStatus::running);
    end_well(id);
}

TEST_F(Recovery, ABackgroundStartupCommandStillCounts) {
    model::Definition definition;
    definition.auto_terminate = true;
    model::StartupCommand startup;
    startup.command = "background";
    startup.wait = false;
    definition.startup.push_back(startup);
    define("service", definition);
    const RunId id = start("service");
    settle();
    restart();
    EXPECT_EQ(run(id).status, RunStatus::running);
    agent(id)->finish(agent(id)->id_of("background"), "exited", 0);
    settle();
    EXPECT_EQ(run(id).status, RunStatus::finished);
    EXPECT_TRUE(nothing_left());
}

TEST_F(Recovery, StartsOverWhatNeverHadAMachine) {
    const RunId id = start("empty");
    kill_daemon();
    disks.folders.insert(id);  // half-made
    start_daemon();
    settle();
    EXPECT_EQ(run(id).status, RunStatus::running);
    end_well(id);
}

TEST_F(Recovery, RemovesWhatNoLiveRunOwns) {
    const RunId id = running();
    kill_daemon();
    const RunId machine = RunId::random(), folder = RunId::random();
    Machine stray(machine);
    stray.active = true;
    hypervisor.machines.emplace(machine, stray);
    disks.folders.insert(machine);
    disks.folders.insert(folder);
    ASSERT_TRUE(database.add_loose_folder("half-made"));
    vfs_folders.insert("half-made");
    start_daemon();
    settle();
    EXPECT_EQ(hypervisor.machines.size(), 1u);
    EXPECT_EQ(disks.folders.size(), 1u);
    EXPECT_TRUE(vfs_folders.empty());
    EXPECT_TRUE(database.loose_folders()->empty());
    // One that libvirt was still making when it was asked.
    hypervisor.machines.emplace(machine, stray);
    advance(31'000);
    EXPECT_EQ(hypervisor.machines.size(), 1u);
    end_well(id);
}

TEST_F(Recovery, LeavesAloneAFileSystemThatIsMadeMeanwhile) {
    for (std::size_t moment = 0; moment < 20; ++moment) {
        kill_daemon();
        start_daemon();
        steps(moment);
        const auto name = capsule("fresh-" + std::to_string(moment));
        const auto made = call(service->create_vfs(Principal(), name));
        ASSERT_TRUE(made && *made) << moment;
        EXPECT_TRUE(vfs_folders.contains((*made)->folder)) << moment;
    }
}

TEST_F(Recovery, AnAgentThatDoesNotAnswerIsAnError) {
    const RunId id = running();
    kill_daemon();
    agent(id)->boot_id = protocol::BootId::random().str();
    start_daemon();
    settle();
    EXPECT_EQ(run(id).status, RunStatus::error);
    EXPECT_THAT(run(id).failure_details, HasSubstr("did not answer"));
    EXPECT_TRUE(nothing_left());
}

// kill -9 after every number of handlers of one run's whole life: what is left is taken back or
// finished, no command runs twice, every result is right, nothing stays behind.
TEST_F(Recovery, SurvivesAKillAtEveryStep) {
    model::Definition definition;
    definition.users = {"builder"};
    model::StartupCommand startup;
    startup.command = "prepare";
    definition.startup.push_back(startup);
    define("full", definition);
    script = [](const protocol::CommandStart& request) {
        return std::optional(report_of(request.id, "exited", 0, request.shell.value_or("")));
    };
    std::size_t step = 0;
    for (bool whole = false; !whole; ++step) {
        ASSERT_LT(step, 500u);
        const RunId id = start("full");
        const auto first = exec(id, "first");
        const auto second = exec(id, "second", true);
        const auto third = exec(id, "third");
        for (std::size_t i = 0; i < step && !whole; ++i) {
            loop->restart();
            whole = loop->poll_one() == 0;
        }
        kill_daemon();
        start_daemon();
        settle();
        ASSERT_EQ(run(id).status, RunStatus::running) << step << " " << run(id).failure_details;
        for (const auto& one : {first, second, third}) {
            const auto record = command(id, one);
            ASSERT_EQ(record.status, CommandStatus::finished) << step << " " << record.command;
            ASSERT_EQ(record.output.window, record.command) << step;
        }
        const auto& order = agent(id)->order;
        const std::set<std::string> once(order.begin(), order.end());
        ASSERT_EQ(once.size(), order.size()) << step;
        later(service->terminate(Principal(), id), [](Result<model::RunRecord>) {});
        steps(step % 25);
        kill_daemon();
        start_daemon();
        settle();
        call(service->terminate(Principal(), id));
        ASSERT_TRUE(nothing_left()) << step;
    }
    EXPECT_GT(step, 20u);
}

}  // namespace
}  // namespace host::sandbox
