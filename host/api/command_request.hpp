#pragma once
// The body of "send a command", decoded and checked as far as its form goes.

#include "host/sandbox/service.hpp"

#include <string>

namespace host::api {

// invalid_argument names the member.
protocol::Result<sandbox::CommandRequest> parse_command(const std::string& json_text);

}  // namespace host::api
