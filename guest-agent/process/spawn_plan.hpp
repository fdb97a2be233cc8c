#pragma once
// What to execute for a command, worked out before anything is started: pure functions from the
// request, the account and the machine's environment to argv, environment and directory. The shell
// text itself is prepared by protocol/text/shell_text.hpp.

#include "guest-agent/process/account.hpp"
#include "protocol/base/result.hpp"
#include "protocol/wire/messages.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace guest_agent {

enum class InputSource : std::uint8_t { none, pipe, terminal };

struct SpawnPlan {
    SpawnPlan() = default;
    std::vector<std::string> programs;  // tried in order, as execvp(3) does
    std::string program_name;           // how errors call it
    std::vector<std::string> arguments;
    std::vector<std::string> environment;  // NAME=VALUE
    std::string directory;
    bool directory_required = false;  // false: start in / with a warning when it cannot be entered
    uid_t uid{};
    gid_t gid{};
    std::vector<gid_t> groups;
    InputSource input = InputSource::none;
    protocol::TerminalSize terminal;
};

// Refuses what can never be run: both or neither of shell and program, a NUL byte, a bad
// environment name, a relative directory, a count above protocol::limits. invalid_argument, naming
// the member.
protocol::Result<void> check_request(const protocol::CommandStart& request);

// `machine` = environment of every command, in rising order of precedence below the request's own.
protocol::Result<SpawnPlan> plan_spawn(const protocol::CommandStart& request,
                                       const Account& account,
                                       const std::vector<protocol::EnvironmentEntry>& machine);

// KEY=VALUE lines of /etc/capsule/environment: the value is everything after the first '='; lines
// without a name and comments are skipped.
std::vector<protocol::EnvironmentEntry> parse_environment_file(std::string_view text);

}  // namespace guest_agent
