#include "support/world.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

namespace host::sandbox {
namespace {

using model::CommandStatus;
using model::RunStatus;
using ::testing::HasSubstr;

class RunEnd : public ::testing::Test, public World {
  protected:
    RunEnd() {
        start_daemon();
        script = programs_succeed;
        model::Definition definition;
        definition.max_duration_ms = 300'000;
        define("empty", definition);
    }
    std::size_t ended_events() {
        std::size_t count = 0;
        const auto events = **call(service->events(Principal(), 0, {}));
        for (const auto& event : events) {
            count += event.type == "run.ended" ? 1u : 0u;
        }
        return count;
    }
};

TEST_F(RunEnd, IsPublishedWhenTheMachineIsGone) {
    const RunId id = start("empty");
    settle();
    auto stopped = call(service->terminate(Principal(), id));
    ASSERT_TRUE(stopped && *stopped);
    EXPECT_EQ((*stopped)->status, RunStatus::terminated);
    EXPECT_TRUE((*stopped)->ended_at);
    EXPECT_TRUE(agent(id)->settled);
    EXPECT_TRUE(nothing_left());
    EXPECT_EQ((*database.find_run(id))->status, RunStatus::terminated);
}

TEST_F(RunEnd, StoppingTwiceOrTwentyTimesIsNoErrorAndOneEnd) {
    const RunId id = start("empty");
    settle();
    int answers = 0;
    for (int i = 0; i < 20; ++i) {
        later(service->terminate(Principal(), id), [&answers](Result<model::RunRecord> record) {
            if (record->status == RunStatus::terminated) ++answers;
        });
    }
    settle();
    EXPECT_EQ(answers, 20);
    EXPECT_EQ((*call(service->terminate(Principal(), id)))->status, RunStatus::terminated);
    EXPECT_EQ(ended_events(), 1u);
}

TEST_F(RunEnd, AbortsWhatIsOpenAndRefusesWhatComesLater) {
    const RunId id = start("empty");
    settle();
    const auto done = exec(id, "done");
    settle();
    agent(id)->finish(done.str(), "exited", 0, "kept");
    settle();
    const auto running = exec(id, "running");
    const auto queued = exec(id, "queued");
    settle();
    call(service->terminate(Principal(), id));
    for (const auto& command_id : {running, queued}) {
        EXPECT_EQ(command(id, command_id).status, CommandStatus::aborted);
        EXPECT_EQ(command(id, command_id).end_reason, model::EndReason::capsule_ended);
        EXPECT_EQ(command(id, command_id).reason, "the capsule was stopped by the user");
    }
    EXPECT_EQ(command(id, done).output.window, "kept");
    CommandRequest request;
    request.command = "late";
    EXPECT_EQ(service->exec(Principal(), id, request, "").error().code(), "run-ended");
}

TEST_F(RunEnd, IsNotThePauseOfAMachineWhoseClockIsCorrectedAfterwards) {
    const RunId id = start("empty");
    service->on_machine_paused(id, false);  // every machine's first instruction
    settle();
    EXPECT_EQ(agent(id)->clock_unix_ns, 0);
    hypervisor.machines.at(id).paused = true;
    service->on_machine_paused(id, true);
    settle();
    EXPECT_TRUE(agent(id)->silence_expected);
    clock.set(clock.boottime_ms() + 60'000);
    hypervisor.machines.at(id).paused = false;
    service->on_machine_paused(id, false);
    settle();
    EXPECT_FALSE(agent(id)->silence_expected);
    EXPECT_EQ(agent(id)->clock_unix_ns, clock.unix_ms() * 1'000'000);
    EXPECT_EQ((*database.find_run(id))->status, RunStatus::running);
}

TEST_F(RunEnd, KeepsAResultThatWasInTheAgentAlready) {
    const RunId id = start("empty");
    settle();
    const auto one = exec(id, "one");
    settle();
    // Ended, and the news still on its way when the end comes.
    agent(id)->commands.at(one.str()).report = report_of(one.str(), "exited", 7, "result");
    call(service->terminate(Principal(), id));
    EXPECT_EQ(command(id, one).status, CommandStatus::error);
    EXPECT_EQ(command(id, one).exit_code, 7);
    EXPECT_EQ(command(id, one).output.window, "result");
}

TEST_F(RunEnd, KeepsWhatAnAbortedCommandHadPrinted) {
    const RunId id = start("empty");
    settle();
    const auto one = exec(id, "one");
    settle();
    call(service->terminate(Principal(), id));
    EXPECT_EQ(command(id, one).status, CommandStatus::aborted);
    EXPECT_FALSE(command(id, one).exit_code);
    EXPECT_EQ(command(id, one).output.window, "so far");
    EXPECT_EQ(command(id, one).output.characters, 6u);
    EXPECT_FALSE(command(id, one).output_open);
}

TEST_F(RunEnd, AtTheDeadlineARunningOneIsFinished) {
    const RunId id = start("empty");
    settle();
    const auto one = exec(id, "sleep");
    advance(299'999);
    EXPECT_EQ(run(id).status, RunStatus::running);
    advance(1);
    EXPECT_EQ(run(id).status, RunStatus::finished);
    EXPECT_EQ(run(id).failure_details, "reached its maxDuration of 00:05:00");
    EXPECT_EQ(command(id, one).status, CommandStatus::aborted);
    EXPECT_THAT(command(id, one).reason, HasSubstr("maxDuration of 00:05:00"));
    EXPECT_TRUE(nothing_left());
}

TEST_F(RunEnd, AtTheDeadlineAStartingOneIsAnErrorWithItsPhase) {
    script = nullptr;
    model::Definition definition;
    definition.max_duration_ms = 300'000;
    definition.packages = {"jq"};
    define("slow", definition);
    const RunId id = start("slow");
    const auto waiting = exec(id, "echo");
    advance(300'000);
    EXPECT_EQ(run(id).status, RunStatus::error);
    EXPECT_EQ(run(id).failure_details, "did not finish starting within 00:05:00 (phase packages)");
    EXPECT_EQ(command(id, waiting).status, CommandStatus::aborted);
    EXPECT_TRUE(nothing_left());
}

TEST_F(RunEnd, TheAgentsOwnDeadlineIsLater) {
    const RunId id = start("empty");
    settle();
    EXPECT_GT(agent(id)->configured->deadline_ms, 300'000u - 1);
}

TEST_F(RunEnd, ACommandKilledWithTheMachineIsAborted) {
    const RunId id = start("empty");
    settle();
    const auto one = exec(id, "sleep");
    settle();
    // Power-off kills before the notice is handled.
    agent(id)->finish(one.str(), "killed", 137, "so far");
    settle();
    protocol::PowerNotice notice;
    notice.action = "poweroff";
    agent(id)->connection->callbacks().power(notice);
    settle();
    EXPECT_EQ(run(id).status, RunStatus::error);
    EXPECT_EQ(run(id).failure_details, "the machine was ended from inside (poweroff)");
    EXPECT_EQ(command(id, one).status, CommandStatus::aborted);
    EXPECT_EQ(command(id, one).output.window, "so far");
    EXPECT_TRUE(nothing_left());
}

TEST_F(RunEnd, IsNoDeadlineBeforeItsTimeWhateverTheGuestSays) {
    const RunId id = start("empty");
    settle();
    protocol::PowerNotice notice;
    notice.action = "deadline";
    agent(id)->connection->callbacks().power(notice);
    settle();
    EXPECT_EQ(run(id).status, RunStatus::error);
    EXPECT_EQ(run(id).failure_details, "the machine was ended from inside (deadline)");
}

TEST_F(RunEnd, AMachineThatCrashesIsAnErrorAtOnce) {
    const RunId id = start("empty");
    settle();
    MachineEvent event(id);
    event.end = MachineEnd::crashed;
    event.panicked = true;
    hypervisor.machines.erase(id);
    service->on_machine_event(event);
    advance(200);
    EXPECT_EQ(run(id).status, RunStatus::error);
    EXPECT_THAT(run(id).failure_details, HasSubstr("crashed"));
    EXPECT_FALSE(agent(id)->settled) << "nobody is there to be asked";
    EXPECT_TRUE(nothing_left());
}

TEST_F(RunEnd, APanicIsTheReasonHoweverItIsNoticed) {
    disks.console_log = ::testing::TempDir() + "console-of-a-panic";
    std::ofstream(disks.console_log)
        << "[ 5.1] Kernel panic - not syncing: sysrq triggered crash\r\n[ 5.1] CPU: 0 PID: 17\r\n";
    const std::string why =
        "the guest's kernel crashed: Kernel panic - not syncing: sysrq triggered crash";
    // panic=-1 reboots at once, which libvirt takes for an end by others.
    const RunId rebooted = start("empty");
    settle();
    MachineEvent event(rebooted);
    event.end = MachineEnd::destroyed;
    service->on_machine_event(event);
    advance(200);
    EXPECT_EQ(run(rebooted).failure_details, why);
    const RunId silent = start("empty");
    settle();
    agent(silent)->connection->callbacks().lost(
        protocol::Failure(protocol::Kind::unavailable, "no answer for 30 s"));
    settle();
    EXPECT_EQ(run(silent).failure_details, why);
    std::filesystem::remove(disks.console_log);
}

TEST_F(RunEnd, ALostAgentIsAnError) {
    const RunId id = start("empty");
    settle();
    agent(id)->connection->callbacks().lost(
        protocol::Failure(protocol::Kind::unavailable, "no answer for 30 s"));
    settle();
    EXPECT_EQ(run(id).status, RunStatus::error);
    EXPECT_THAT(run(id).failure_details, HasSubstr("no answer for 30 s"));
    EXPECT_TRUE(nothing_left());
}

TEST_F(RunEnd, AVirtiofsdThatDiesIsAnErrorUnlessTheMachineWentToo) {
    model::QualifiedName name = capsule("data");
    ASSERT_TRUE(*call(service->create_vfs(Principal(), name)));
    model::Definition definition;
    model::VfsMount mount;
    mount.vfs = name;
    mount.mount_name = "data";
    definition.vfs.push_back(mount);
    define("mounting", definition);
    const RunId first = start("mounting");
    settle();
    ASSERT_EQ(watched.size(), 1u);
    watched.begin()->second();
    // What fails because of it is not the reason.
    agent(first)->connection->callbacks().lost(
        protocol::Failure(protocol::Kind::unavailable, "no answer for 30 s"));
    advance(1'000);
    EXPECT_EQ(run(first).failure_details,
              "the file system server (virtiofsd) of the VFS mounted at /mnt/data died");
    EXPECT_EQ(run(first).status, RunStatus::error);
    EXPECT_TRUE(nothing_left());

    watched.clear();
    const RunId second = start("mounting");
    settle();
    watched.begin()->second();
    MachineEvent event(second);
    event.end = MachineEnd::shut_down;
    service->on_machine_event(event);
    advance(1'000);
    EXPECT_EQ(run(second).failure_details, "the machine was shut down from inside");
    EXPECT_TRUE(nothing_left());
}

TEST_F(RunEnd, AfterTheDeathOfAVirtiofsdTheGuestIsNotAskedToUnmount) {
    model::Definition definition;
    for (const char* name : {"one", "two"}) {
        model::VfsMount mount;
        mount.vfs = capsule(name);
        mount.mount_name = std::string("mount-") + name;
        ASSERT_TRUE(*call(service->create_vfs(Principal(), mount.vfs)));
        definition.vfs.push_back(mount);
    }
    define("mounting", definition);
    const RunId id = start("mounting");
    settle();
    const auto kept = exec(id, "ended in time");
    settle();
    agent(id)->finish(kept.str(), "exited", 7, "result");
    const auto hanging = exec(id, "hangs");
    settle();
    ASSERT_EQ(watched.size(), 2u);
    watched.rbegin()->second();
    advance(1'000);
    EXPECT_EQ(run(id).status, RunStatus::error);
    EXPECT_THAT(run(id).failure_details, HasSubstr("/mnt/mount-two"));
    EXPECT_FALSE(agent(id)->settled) << "it would hang";
    EXPECT_EQ(command(id, kept).exit_code, 7);
    EXPECT_EQ(command(id, hanging).status, CommandStatus::aborted);
    EXPECT_TRUE(nothing_left());
}

TEST_F(RunEnd, WithoutLibvirtTheRunIsEndingUntilItComesBack) {
    const RunId id = start("empty");
    settle();
    hypervisor.away = true;
    later(service->terminate(Principal(), id), [](Result<model::RunRecord>) {});
    advance(5'000);
    EXPECT_EQ(run(id).status, RunStatus::running);
    EXPECT_EQ(run(id).phase, model::RunPhase::ending);
    hypervisor.away = false;
    service->on_reconnect();
    settle();
    EXPECT_EQ(run(id).status, RunStatus::terminated);
    EXPECT_TRUE(nothing_left());
}

TEST_F(RunEnd, AfterAReconnectAMissingMachineIsAnError) {
    const RunId id = start("empty");
    const RunId other = start("empty");
    settle();
    hypervisor.machines.erase(id);
    service->on_reconnect();
    settle();
    EXPECT_EQ(run(id).status, RunStatus::error);
    EXPECT_EQ(run(id).failure_details, "the machine is gone");
    EXPECT_EQ(run(other).status, RunStatus::running);
}

TEST_F(RunEnd, IsShownAsEndingWithTheStatusItHad) {
    settle();
    workers->hang_at = 1;
    const RunId id = start("empty");
    settle();
    later(service->terminate(Principal(), id), [](Result<model::RunRecord>) {});
    settle();
    RunFilter live;
    live.live_only = true;
    const auto page = service->runs(Principal(), live, Page());
    ASSERT_EQ(page->items.size(), 1u);
    EXPECT_EQ(page->items.front().status, RunStatus::starting);
    EXPECT_EQ(page->items.front().phase, model::RunPhase::ending);
    EXPECT_EQ(page->items.front().failure_details, "stopped by the user");
    workers->release();
    settle();
    EXPECT_EQ(run(id).status, RunStatus::terminated);
    EXPECT_TRUE(service->runs(Principal(), live, Page())->items.empty());
}

TEST_F(RunEnd, PingsOnlyALiveRunWhoseAgentWasHeard) {
    settle();
    workers->hang_at = 1;
    const RunId id = start("empty");
    settle();
    EXPECT_EQ(call(service->ping(Principal(), id))->error().code(), "guest-unavailable");
    workers->release();
    settle();
    EXPECT_EQ(**call(service->ping(Principal(), id)), std::chrono::nanoseconds(1));
    call(service->terminate(Principal(), id));
    EXPECT_EQ(call(service->ping(Principal(), id))->error().code(), "run-ended");
    EXPECT_EQ(call(service->ping(Principal(), RunId::random()))->error().code(), "not-found");
}

TEST_F(RunEnd, StoppedAtAnyStepOfTheStartItLeavesNothing) {
    model::Definition definition;
    definition.users = {"builder"};
    definition.packages = {"jq"};
    define("full", definition);
    for (std::size_t step = 0; step < 60; ++step) {
        const RunId id = start("full");
        steps(step);
        auto stopped = call(service->terminate(Principal(), id));
        ASSERT_TRUE(stopped && *stopped) << step;
        EXPECT_EQ((*stopped)->status, RunStatus::terminated) << step;
        EXPECT_TRUE(nothing_left()) << step;
    }
}

TEST_F(RunEnd, AMachineThatHangsInItsCreationIsDestroyedAllTheSame) {
    settle();              // recovery has looked at its lists
    workers->hang_at = 3;  // disk, file systems, machine
    const RunId id = start("empty");
    settle();
    std::optional<RunStatus> ended;
    later(service->terminate(Principal(), id),
          [&ended](Result<model::RunRecord> record) { ended = record->status; });
    advance(1'000);
    EXPECT_FALSE(ended);
    EXPECT_EQ(hypervisor.destroyed, 1) << "what libvirt waits for is killed";
    workers->release();
    settle();
    EXPECT_EQ(ended, RunStatus::terminated);
    EXPECT_TRUE(nothing_left());
}

TEST_F(RunEnd, OldRunsAreForgotten) {
    settings.ended_runs_kept = 2;
    kill_daemon();
    start_daemon();
    std::vector<RunId> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(start("empty"));
        settle();
        call(service->terminate(Principal(), all.back()));
    }
    EXPECT_FALSE(service->run(Principal(), all.front()));
    EXPECT_TRUE(service->run(Principal(), all.back()));
}

TEST_F(RunEnd, ClosingTheServiceLeavesRunsAlive) {
    const RunId id = start("empty");
    settle();
    const auto one = exec(id, "sleep");
    settle();
    bool closed = false;
    close_service(closed);
    settle();
    EXPECT_TRUE(closed);
    EXPECT_EQ(hypervisor.machines.size(), 1u);
    EXPECT_EQ((*database.find_run(id))->status, RunStatus::running);
    EXPECT_EQ((*database.find_command(id, one))->status, CommandStatus::running);
}

}  // namespace
}  // namespace host::sandbox
