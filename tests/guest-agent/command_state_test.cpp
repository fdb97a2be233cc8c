#include "guest-agent/process/command_state.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace guest_agent {
namespace {

ProcessEnd exited(int code) {
    ProcessEnd end;
    end.value = code;
    return end;
}

ProcessEnd died(int signal, bool out_of_memory = false) {
    ProcessEnd end;
    end.signaled = true;
    end.value = signal;
    end.out_of_memory = out_of_memory;
    return end;
}

TEST(CommandState, ReportsAtOnceWhenTheOutputsHaveEndedBefore) {
    CommandState state;
    EXPECT_FALSE(state.outputs_ended().report);
    const auto step = state.reaped(exited(3));
    EXPECT_TRUE(step.report);
    EXPECT_TRUE(step.close);
    EXPECT_TRUE(step.disarm_limit);
    EXPECT_EQ(state.verdict().kind, "exited");
    EXPECT_EQ(state.verdict().code, 3);
}

TEST(CommandState, DrainsOpenOutputsBeforeItReports) {
    CommandState state;
    auto step = state.reaped(exited(0));
    EXPECT_TRUE(step.arm_drain);
    EXPECT_FALSE(step.report);
    EXPECT_FALSE(state.over());
    step = state.outputs_ended();
    EXPECT_TRUE(step.report);
    EXPECT_TRUE(step.close);
}

TEST(CommandState, ReportsAfterTheDrainTimeAndClosesLater) {
    CommandState state;
    state.reaped(exited(0));
    auto step = state.drain_elapsed();
    EXPECT_TRUE(step.report);
    EXPECT_FALSE(step.close);
    EXPECT_TRUE(state.over());
    EXPECT_FALSE(state.closed());
    step = state.outputs_ended();
    EXPECT_FALSE(step.report);
    EXPECT_TRUE(step.close);
    EXPECT_TRUE(state.closed());
}

TEST(CommandState, GivesSignalsTheShellsNumber) {
    CommandState state;
    state.reaped(died(SIGSEGV));
    EXPECT_EQ(state.verdict().kind, "signaled");
    EXPECT_EQ(state.verdict().code, 139);
    EXPECT_EQ(state.verdict().signal, SIGSEGV);
}

TEST(CommandState, LimitKillsTheTreeAndIs124) {
    CommandState state;
    const auto step = state.limit_reached();
    EXPECT_TRUE(step.kill_tree);
    EXPECT_TRUE(step.arm_grace);
    state.reaped(died(SIGKILL));
    EXPECT_EQ(state.verdict().kind, "timedOut");
    EXPECT_EQ(state.verdict().code, 124);
}

TEST(CommandState, RequestedKillIs137) {
    CommandState state;
    state.kill_requested();
    state.reaped(died(SIGKILL));
    EXPECT_EQ(state.verdict().kind, "killed");
    EXPECT_EQ(state.verdict().code, 137);
}

TEST(CommandState, KeepsTheFirstCauseOfAKill) {
    CommandState state;
    state.limit_reached();
    EXPECT_FALSE(state.kill_requested().arm_grace);
    state.reaped(died(SIGKILL));
    EXPECT_EQ(state.verdict().kind, "timedOut");
}

TEST(CommandState, StaysExitedWhenAKillComesTooLate) {
    CommandState state;
    state.limit_reached();
    state.reaped(exited(0));
    EXPECT_EQ(state.verdict().kind, "exited");
}

TEST(CommandState, OwnKillWithoutACauseIsASignal) {
    CommandState state;
    state.reaped(died(SIGKILL));
    EXPECT_EQ(state.verdict().kind, "signaled");
    EXPECT_EQ(state.verdict().code, 137);
}

TEST(CommandState, KnowsOutOfMemory) {
    CommandState state;
    state.reaped(died(SIGKILL, true));
    EXPECT_EQ(state.verdict().kind, "outOfMemory");
    EXPECT_EQ(state.verdict().code, 137);
}

TEST(CommandState, ReportsAKilledProcessThatDoesNotGo) {
    CommandState state;
    state.limit_reached();
    const auto step = state.grace_elapsed();
    EXPECT_TRUE(step.report);
    EXPECT_FALSE(step.close);
    EXPECT_EQ(state.verdict().kind, "timedOut");
    // Its real end changes nothing any more.
    EXPECT_FALSE(state.reaped(exited(0)).report);
    EXPECT_EQ(state.verdict().code, 124);
    EXPECT_TRUE(state.outputs_ended().close);
}

TEST(CommandState, ReportsOnce) {
    CommandState state;
    state.reaped(exited(0));
    EXPECT_TRUE(state.drain_elapsed().report);
    EXPECT_FALSE(state.drain_elapsed().report);
    EXPECT_FALSE(state.grace_elapsed().report);
}

TEST(CommandState, LateLimitSparesWhatTheCommandLeftBehind) {
    CommandState state;
    state.reaped(exited(0));
    EXPECT_FALSE(state.limit_reached().kill_tree);
    EXPECT_TRUE(state.kill_requested().kill_tree);
}

TEST(CommandState, FailedStartIsItsVerdict) {
    CommandState state;
    ProcessEnd end = exited(126);
    end.failed_to_start.emplace();
    end.failed_to_start->kind = "failedToStart";
    end.failed_to_start->code = 126;
    state.reaped(end);
    EXPECT_EQ(state.verdict().kind, "failedToStart");
}

}  // namespace
}  // namespace guest_agent
