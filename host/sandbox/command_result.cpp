#include "host/sandbox/command_result.hpp"

#include "protocol/base/duration.hpp"

#include <algorithm>
#include <string.h>

namespace host::sandbox {

namespace {

constexpr std::size_t failure_command_characters = 200;
constexpr std::size_t failure_output_characters = 4'096;

bool starts_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

std::string head(std::string_view text, std::size_t limit) {
    std::size_t characters = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (starts_character(text[i]) && characters++ == limit)
            return std::string(text.substr(0, i));
    }
    return std::string(text);
}

std::string format_limit(std::uint64_t milliseconds) {
    return protocol::format_duration(protocol::Milliseconds(milliseconds));
}

model::EndReason reason_of(const std::string& kind) {
    if (kind == "signaled") return model::EndReason::signaled;
    if (kind == "timedOut") return model::EndReason::timed_out;
    if (kind == "outOfMemory") return model::EndReason::out_of_memory;
    if (kind == "killed") return model::EndReason::killed;
    if (kind == "failedToStart") return model::EndReason::failed_to_start;
    return model::EndReason::exited;
}

std::string signal_name(int number) {
    const char* abbreviation = ::sigabbrev_np(number);
    return abbreviation ? std::string("SIG") + abbreviation : "signal " + std::to_string(number);
}

// A sentence where status and code alone would leave a user asking.
std::string sentence(const model::CommandRecord& command, const protocol::CommandReport& report) {
    switch (command.end_reason) {
        case model::EndReason::timed_out:
            return "did not end within " + format_limit(command.max_duration_ms.value_or(0));
        case model::EndReason::out_of_memory:
            return "ran out of memory";
        case model::EndReason::failed_to_start:
            return report.message.value_or("");
        case model::EndReason::signaled:
            return report.signal ? "killed by " + signal_name(*report.signal) : "";
        case model::EndReason::killed:
            return kill_reason;
        case model::EndReason::none:
        case model::EndReason::exited:
        case model::EndReason::canceled:
        case model::EndReason::capsule_ended:
            return "";
    }
    return "";
}

std::string why_it_failed(const model::StartupCommand& startup,
                          const protocol::CommandReport& report) {
    if (std::string said = tail(report.error.window, failure_output_characters); !said.empty()) {
        return said;
    }
    switch (reason_of(report.kind)) {
        case model::EndReason::timed_out:
            return "did not end within " + format_limit(startup.max_duration_ms.value_or(0));
        case model::EndReason::signaled:
            return "killed by " + signal_name(report.signal.value_or(report.code - 128)) + " (" +
                   std::to_string(report.code) + ")";
        case model::EndReason::out_of_memory:
            return "ran out of memory (" + std::to_string(report.code) + ")";
        case model::EndReason::failed_to_start:
            if (report.message && !report.message->empty()) return *report.message;
            break;
        case model::EndReason::none:
        case model::EndReason::exited:
        case model::EndReason::killed:
        case model::EndReason::canceled:
        case model::EndReason::capsule_ended:
            break;
    }
    return "exit code " + std::to_string(report.code);
}

void end(model::CommandRecord& command, model::CommandEvent event, model::EndReason reason,
         model::UnixMillis now) {
    // Callers only end what is queued or running; the table says so too.
    command.status = next(command.status, event).value_or(command.status);
    command.end_reason = reason;
    command.ended_at = now;
}

}  // namespace

std::string tail(std::string_view text, std::size_t limit) {
    const std::size_t last = text.find_last_not_of(" \t\r\n");
    text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
    std::size_t characters = 0;
    for (std::size_t i = text.size(); i > 0; --i) {
        if (starts_character(text[i - 1]) && ++characters == limit) {
            return std::string(text.substr(i - 1));
        }
    }
    return std::string(text);
}

protocol::CommandStart start_request(const model::CommandRecord& command,
                                     const model::Definition& definition) {
    protocol::CommandStart request;
    request.id = command.id.str();
    request.shell = command.command;
    request.arguments = command.arguments;
    request.user = command.run_as_user.empty() ? model::default_user : command.run_as_user;
    const std::string& folder = command.working_directory.empty() ? definition.working_directory
                                                                  : command.working_directory;
    if (!folder.empty()) request.working_directory = folder;
    for (const model::Variable& variable : command.environment) {
        protocol::EnvironmentEntry entry;
        entry.name = variable.name;
        entry.value = variable.value;
        request.environment.push_back(std::move(entry));
    }
    request.limit_ms = command.max_duration_ms;
    request.input = command.input;
    if (command.terminal_rows && command.terminal_columns) {
        protocol::TerminalSize size;
        size.rows = *command.terminal_rows;
        size.columns = *command.terminal_columns;
        request.terminal = size;
    }
    request.hold_output = command.hold_output;
    return request;
}

protocol::CommandStart start_request(const model::CommandRecord& command,
                                     const model::StartupCommand& startup,
                                     const model::Definition& definition) {
    protocol::CommandStart request;
    request.id = command.id.str();
    request.shell = startup.command;
    request.arguments = startup.arguments;
    request.user = startup.run_as_user.empty() ? model::default_user : startup.run_as_user;
    if (!definition.working_directory.empty()) {
        request.working_directory = definition.working_directory;
    }
    request.limit_ms = startup.max_duration_ms;
    return request;
}

bool succeeded(const protocol::CommandReport& report) {
    return report.kind == "exited" && report.code == 0;
}

bool is_over(const protocol::CommandReport& report) {
    return !report.kind.empty();
}

void apply_outputs(model::CommandRecord& command, const protocol::CommandReport& report) {
    command.output.window = report.output.window;
    command.output.characters = report.output.characters;
    command.error.window = report.error.window;
    command.error.characters = report.error.characters;
    command.output_open = report.output_open;
}

void apply_end(model::CommandRecord& command, const protocol::CommandReport& report,
               model::UnixMillis now) {
    end(command,
        succeeded(report) ? model::CommandEvent::exited_zero
                          : model::CommandEvent::exited_otherwise,
        reason_of(report.kind), now);
    command.exit_code = report.code;
    command.run_time_ms = report.run_time_ms;
    command.peak_memory_bytes = report.peak_memory_bytes;
    command.reason = sentence(command, report);
    apply_outputs(command, report);
}

void apply_refusal(model::CommandRecord& command, const std::string& why, model::UnixMillis now) {
    end(command, model::CommandEvent::exited_otherwise, model::EndReason::failed_to_start, now);
    command.exit_code = 126;
    command.reason = why;
    command.output_open = false;
}

void apply_abort(model::CommandRecord& command, const std::string& why, model::UnixMillis now) {
    end(command, model::CommandEvent::run_ended, model::EndReason::capsule_ended, now);
    command.reason = why;
    command.output_open = false;
}

void apply_cancel(model::CommandRecord& command, model::UnixMillis now) {
    end(command, model::CommandEvent::canceled, model::EndReason::canceled, now);
    command.reason = "canceled before it started";
}

std::string startup_failure(const model::StartupCommand& startup,
                            const protocol::CommandReport& report) {
    std::string line = startup.command;
    for (const std::string& argument : startup.arguments) line += " " + argument;
    return "Startup command failed: " + head(line, failure_command_characters) + " - " +
           why_it_failed(startup, report);
}

}  // namespace host::sandbox
