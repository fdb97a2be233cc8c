#pragma once
// From what the agent reports to what is remembered and said. Pure.

#include "host/model/records.hpp"
#include "protocol/wire/messages.hpp"

#include <string>

namespace host::sandbox {

// What the agent shall do for a command of a client.
protocol::CommandStart start_request(const model::CommandRecord& command,
                                     const model::Definition& definition);
// The same for one of the recipe's own.
protocol::CommandStart start_request(const model::CommandRecord& command,
                                     const model::StartupCommand& startup,
                                     const model::Definition& definition);

// Why a command ended that a client has killed; set when the kill is asked for.
inline constexpr char kill_reason[] = "killed on request";

bool succeeded(const protocol::CommandReport& report);
bool is_over(const protocol::CommandReport& report);  // else it still runs

// Outputs and lengths only: live and late reports.
void apply_outputs(model::CommandRecord& command, const protocol::CommandReport& report);
// Status, reason, code, times, outputs. The command must be running.
void apply_end(model::CommandRecord& command, const protocol::CommandReport& report,
               model::UnixMillis now);
// The agent will not run it; `why` is its reason.
void apply_refusal(model::CommandRecord& command, const std::string& why, model::UnixMillis now);
void apply_abort(model::CommandRecord& command, const std::string& why, model::UnixMillis now);
void apply_cancel(model::CommandRecord& command, model::UnixMillis now);

// Of a Failure whose text holds what a recipe's command has printed: it is not logged.
inline constexpr char startup_failed_code[] = "startup-failed";

// "Startup command failed: <command and arguments> - <why>", as design says.
std::string startup_failure(const model::StartupCommand& startup,
                            const protocol::CommandReport& report);
// The last `limit` characters of well-formed UTF-8, without trailing white space.
std::string tail(std::string_view text, std::size_t limit);

}  // namespace host::sandbox
