#pragma once
// Starts one process as a SpawnPlan says: own session, the account's ids and groups, default
// signals, no inherited descriptors, born inside its cgroup. Everything is prepared before the
// clone; the child only makes async-signal-safe calls and reports a failure as {stage, errno}
// through a close-on-exec pipe, which the parent reads when it reaps the child. Sources: clone(2)
// (clone3, CLONE_INTO_CGROUP), setresuid(2), close_range(2), ioctl_tty(2).

#include "guest-agent/process/command_state.hpp"
#include "guest-agent/process/spawn_plan.hpp"
#include "protocol/base/result.hpp"
#include "protocol/base/unique_fd.hpp"

#include <cstdint>
#include <optional>
#include <sys/types.h>

namespace guest_agent {

// All descriptors are non-blocking and close-on-exec.
struct SpawnedProcess {
    SpawnedProcess() = default;
    pid_t pid = -1;
    protocol::UniqueFd input;   // write end, or the terminal's master; empty for InputSource::none
    protocol::UniqueFd output;  // read end, or the terminal's master
    protocol::UniqueFd error;   // read end; empty with a terminal
    protocol::UniqueFd status;
};

// `cgroup` is a directory descriptor, or -1. Does not wait for the child, which may not be the
// leader of its own session yet. Failures: io (no descriptors, no process).
protocol::Result<SpawnedProcess> spawn(const SpawnPlan& plan, int cgroup);

// After the child was reaped: what kept it from executing, or nullopt when it did execute.
std::optional<Verdict> start_failure(const SpawnPlan& plan, int status);

}  // namespace guest_agent
