#pragma once
// The states of runs and commands and the only transitions there are. Pure tables: the service asks
// here first, stores the new state, and only then acts.

#include <cstdint>
#include <optional>
#include <string_view>

namespace host::model {

enum class RunStatus : std::uint8_t { starting, running, finished, error, terminated };
// What `starting` is busy with; meaningless in other states. `ending` is reported while a run that
// is over is being taken down: the terminal status is published only afterwards.
enum class RunPhase : std::uint8_t { none, booting, mounting, users, packages, startup, ending };

enum class RunEvent : std::uint8_t {
    became_ready,      // every start-up step that must be waited for is done
    startup_finished,  // autoTerminate and all start-up commands done
    failed,            // anything that ends it with Error
    deadline,          // maxDuration is over
    stop_requested,    // by the user
};

enum class CommandStatus : std::uint8_t { queued, running, finished, error, aborted };
enum class CommandEvent : std::uint8_t {
    dispatched,
    exited_zero,
    exited_otherwise,
    canceled,
    run_ended
};

// Order matters: documented in docs/api.md as endReason.
enum class EndReason : std::uint8_t {
    none,
    exited,
    signaled,
    timed_out,
    out_of_memory,
    failed_to_start,
    killed,
    canceled,
    capsule_ended
};

constexpr bool is_terminal(RunStatus status) {
    return status == RunStatus::finished || status == RunStatus::error ||
           status == RunStatus::terminated;
}
constexpr bool is_terminal(CommandStatus status) {
    return status == CommandStatus::finished || status == CommandStatus::error ||
           status == CommandStatus::aborted;
}

// nullopt: the event does not apply in that state and changes nothing (e.g. stopping twice).
std::optional<RunStatus> next(RunStatus status, RunEvent event);
std::optional<CommandStatus> next(CommandStatus status, CommandEvent event);

// As in the API: "Starting", "Finished", ...; phases and reasons "booting", "timedOut", ...
std::string_view to_string(RunStatus status);
std::string_view to_string(RunPhase phase);
std::string_view to_string(CommandStatus status);
std::string_view to_string(EndReason reason);
std::optional<RunStatus> parse_run_status(std::string_view text);
std::optional<RunPhase> parse_run_phase(std::string_view text);
std::optional<CommandStatus> parse_command_status(std::string_view text);
std::optional<EndReason> parse_end_reason(std::string_view text);

}  // namespace host::model
