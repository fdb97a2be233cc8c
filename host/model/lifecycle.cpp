#include "host/model/lifecycle.hpp"

#include <array>
#include <utility>

namespace host::model {

namespace {

template <typename Enum, std::size_t size>
using Names = std::array<std::pair<Enum, std::string_view>, size>;

constexpr Names<RunStatus, 5> run_statuses{{
    {RunStatus::starting, "Starting"},
    {RunStatus::running, "Running"},
    {RunStatus::finished, "Finished"},
    {RunStatus::error, "Error"},
    {RunStatus::terminated, "Terminated"},
}};
constexpr Names<RunPhase, 7> run_phases{{
    {RunPhase::none, "none"},
    {RunPhase::booting, "booting"},
    {RunPhase::mounting, "mounting"},
    {RunPhase::users, "users"},
    {RunPhase::packages, "packages"},
    {RunPhase::startup, "startup"},
    {RunPhase::ending, "ending"},
}};
constexpr Names<CommandStatus, 5> command_statuses{{
    {CommandStatus::queued, "Queued"},
    {CommandStatus::running, "Running"},
    {CommandStatus::finished, "Finished"},
    {CommandStatus::error, "Error"},
    {CommandStatus::aborted, "Aborted"},
}};
constexpr Names<EndReason, 9> end_reasons{{
    {EndReason::none, "none"},
    {EndReason::exited, "exited"},
    {EndReason::signaled, "signaled"},
    {EndReason::timed_out, "timedOut"},
    {EndReason::out_of_memory, "outOfMemory"},
    {EndReason::failed_to_start, "failedToStart"},
    {EndReason::killed, "killed"},
    {EndReason::canceled, "canceled"},
    {EndReason::capsule_ended, "capsuleEnded"},
}};

template <typename Enum, std::size_t size>
constexpr std::string_view name_of(const Names<Enum, size>& names, Enum value) {
    for (const auto& [candidate, name] : names) {
        if (candidate == value) return name;
    }
    return "unknown";
}

template <typename Enum, std::size_t size>
constexpr std::optional<Enum> value_of(const Names<Enum, size>& names, std::string_view text) {
    for (const auto& [value, name] : names) {
        if (name == text) return value;
    }
    return std::nullopt;
}

std::optional<RunStatus> next_of_starting(RunEvent event) {
    switch (event) {
        case RunEvent::became_ready:
            return RunStatus::running;
        // Start-up commands are only counted as done once the run was ready.
        case RunEvent::startup_finished:
            return std::nullopt;
        case RunEvent::failed:
            return RunStatus::error;
        case RunEvent::deadline:
            return RunStatus::error;
        case RunEvent::stop_requested:
            return RunStatus::terminated;
    }
    return std::nullopt;
}

std::optional<RunStatus> next_of_running(RunEvent event) {
    switch (event) {
        case RunEvent::became_ready:
            return std::nullopt;
        case RunEvent::startup_finished:
            return RunStatus::finished;
        case RunEvent::failed:
            return RunStatus::error;
        case RunEvent::deadline:
            return RunStatus::finished;
        case RunEvent::stop_requested:
            return RunStatus::terminated;
    }
    return std::nullopt;
}

std::optional<CommandStatus> next_of_queued(CommandEvent event) {
    switch (event) {
        case CommandEvent::dispatched:
            return CommandStatus::running;
        case CommandEvent::exited_zero:
            return std::nullopt;
        case CommandEvent::exited_otherwise:
            return std::nullopt;
        case CommandEvent::canceled:
            return CommandStatus::error;
        case CommandEvent::run_ended:
            return CommandStatus::aborted;
    }
    return std::nullopt;
}

std::optional<CommandStatus> next_of_running_command(CommandEvent event) {
    switch (event) {
        case CommandEvent::dispatched:
            return std::nullopt;
        case CommandEvent::exited_zero:
            return CommandStatus::finished;
        case CommandEvent::exited_otherwise:
            return CommandStatus::error;
        // Too late to cancel: it is killed instead and then exits.
        case CommandEvent::canceled:
            return std::nullopt;
        case CommandEvent::run_ended:
            return CommandStatus::aborted;
    }
    return std::nullopt;
}

}  // namespace

std::optional<RunStatus> next(RunStatus status, RunEvent event) {
    switch (status) {
        case RunStatus::starting:
            return next_of_starting(event);
        case RunStatus::running:
            return next_of_running(event);
        case RunStatus::finished:
        case RunStatus::error:
        case RunStatus::terminated:
            return std::nullopt;
    }
    return std::nullopt;
}

std::optional<CommandStatus> next(CommandStatus status, CommandEvent event) {
    switch (status) {
        case CommandStatus::queued:
            return next_of_queued(event);
        case CommandStatus::running:
            return next_of_running_command(event);
        case CommandStatus::finished:
        case CommandStatus::error:
        case CommandStatus::aborted:
            return std::nullopt;
    }
    return std::nullopt;
}

std::string_view to_string(RunStatus status) {
    return name_of(run_statuses, status);
}
std::string_view to_string(RunPhase phase) {
    return name_of(run_phases, phase);
}
std::string_view to_string(CommandStatus status) {
    return name_of(command_statuses, status);
}
std::string_view to_string(EndReason reason) {
    return name_of(end_reasons, reason);
}

std::optional<RunStatus> parse_run_status(std::string_view text) {
    return value_of(run_statuses, text);
}
std::optional<RunPhase> parse_run_phase(std::string_view text) {
    return value_of(run_phases, text);
}
std::optional<CommandStatus> parse_command_status(std::string_view text) {
    return value_of(command_statuses, text);
}
std::optional<EndReason> parse_end_reason(std::string_view text) {
    return value_of(end_reasons, text);
}

}  // namespace host::model
