#pragma once
// The body of "send a command", decoded and checked as far as its form goes.

#include "host/sandbox/service.hpp"

#include <optional>
#include <string>

namespace host::api {

struct ParsedCommand {
    ParsedCommand() = default;
    sandbox::CommandRequest request;
    std::optional<std::string> input_text;  // stdin: {"text": ...}
};

// invalid_argument names the member.
protocol::Result<ParsedCommand> parse_command(const std::string& json_text);

}  // namespace host::api
