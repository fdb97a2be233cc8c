#include "host/model/lifecycle.hpp"

#include <map>
#include <utility>

#include <gtest/gtest.h>

namespace host::model {
namespace {

constexpr RunStatus run_statuses[] = {RunStatus::starting, RunStatus::running, RunStatus::finished,
                                      RunStatus::error, RunStatus::terminated};
constexpr RunEvent run_events[] = {RunEvent::became_ready, RunEvent::startup_finished,
                                   RunEvent::failed, RunEvent::deadline, RunEvent::stop_requested};
constexpr CommandStatus command_statuses[] = {CommandStatus::queued, CommandStatus::running,
                                              CommandStatus::finished, CommandStatus::error,
                                              CommandStatus::aborted};
constexpr CommandEvent command_events[] = {CommandEvent::dispatched, CommandEvent::exited_zero,
                                           CommandEvent::exited_otherwise, CommandEvent::canceled,
                                           CommandEvent::run_ended};

TEST(RunLifecycle, HasExactlyTheseTransitions) {
    using S = RunStatus;
    using E = RunEvent;
    const std::map<std::pair<S, E>, S> expected{
        {{S::starting, E::became_ready}, S::running},
        {{S::starting, E::failed}, S::error},
        {{S::starting, E::deadline}, S::error},
        {{S::starting, E::stop_requested}, S::terminated},
        {{S::running, E::startup_finished}, S::finished},
        {{S::running, E::failed}, S::error},
        {{S::running, E::deadline}, S::finished},
        {{S::running, E::stop_requested}, S::terminated},
    };
    for (auto status : run_statuses) {
        for (auto event : run_events) {
            const auto found = expected.find({status, event});
            const auto result = next(status, event);
            if (found == expected.end()) {
                EXPECT_FALSE(result) << to_string(status) << " event " << int(event);
            } else {
                EXPECT_EQ(result, found->second) << to_string(status) << " event " << int(event);
            }
        }
    }
}

TEST(CommandLifecycle, HasExactlyTheseTransitions) {
    using S = CommandStatus;
    using E = CommandEvent;
    const std::map<std::pair<S, E>, S> expected{
        {{S::queued, E::dispatched}, S::running},      {{S::queued, E::canceled}, S::error},
        {{S::queued, E::run_ended}, S::aborted},       {{S::running, E::exited_zero}, S::finished},
        {{S::running, E::exited_otherwise}, S::error}, {{S::running, E::run_ended}, S::aborted},
    };
    for (auto status : command_statuses) {
        for (auto event : command_events) {
            const auto found = expected.find({status, event});
            const auto result = next(status, event);
            if (found == expected.end()) {
                EXPECT_FALSE(result) << to_string(status) << " event " << int(event);
            } else {
                EXPECT_EQ(result, found->second) << to_string(status) << " event " << int(event);
            }
        }
    }
}

TEST(RunLifecycle, NoEventLeavesATerminalStatus) {
    for (auto status : run_statuses) {
        if (!is_terminal(status)) continue;
        for (auto event : run_events) EXPECT_FALSE(next(status, event));
    }
}

TEST(LifecycleNames, RoundTrip) {
    for (auto status : run_statuses) EXPECT_EQ(parse_run_status(to_string(status)), status);
    for (auto status : command_statuses) EXPECT_EQ(parse_command_status(to_string(status)), status);
    for (auto phase : {RunPhase::none, RunPhase::booting, RunPhase::mounting, RunPhase::users,
                       RunPhase::packages, RunPhase::startup, RunPhase::ending}) {
        EXPECT_EQ(parse_run_phase(to_string(phase)), phase);
    }
    for (auto reason : {EndReason::none, EndReason::exited, EndReason::signaled,
                        EndReason::timed_out, EndReason::out_of_memory, EndReason::failed_to_start,
                        EndReason::killed, EndReason::canceled, EndReason::capsule_ended}) {
        EXPECT_EQ(parse_end_reason(to_string(reason)), reason);
    }
}

TEST(LifecycleNames, AreSpelledAsTheApiSaysThem) {
    EXPECT_EQ(to_string(RunStatus::starting), "Starting");
    EXPECT_EQ(to_string(EndReason::timed_out), "timedOut");
    EXPECT_EQ(to_string(EndReason::capsule_ended), "capsuleEnded");
    EXPECT_FALSE(parse_run_status("starting"));
    EXPECT_FALSE(parse_end_reason(""));
}

}  // namespace
}  // namespace host::model
