#include "sdk/mt/exec_request.hpp"

#include "protocol/base/duration.hpp"
#include "protocol/base/name.hpp"
#include "protocol/base/utf8.hpp"

namespace mt {
namespace {

using protocol::fail;
using protocol::Kind;

Result<void> check_text(const std::string& what, const std::string& text) {
    if (protocol::is_valid_utf8(text)) return {};
    return fail(Kind::invalid_argument,
                what + " is not valid UTF-8: " + protocol::escape_foreign(text) +
                    "; send such bytes with -i or in a file");
}

}  // namespace

Result<sdk::ExecRequest> make_exec_request(const Arguments& arguments) {
    sdk::ExecRequest request;
    request.command = arguments.rest().front();
    TRY_VOID(check_text("the command", request.command));
    for (std::size_t index = 1; index < arguments.rest().size(); ++index) {
        const std::string& argument = arguments.rest()[index];
        TRY_VOID(check_text("argument " + std::to_string(index), argument));
        request.arguments.push_back(argument);
    }
    request.run_as_user = arguments.value("user");
    TRY_VOID(check_text("--user", request.run_as_user));
    request.working_directory = arguments.value("workdir");
    TRY_VOID(check_text("--workdir", request.working_directory));
    if (arguments.has("timeout")) {
        auto duration = protocol::parse_duration(arguments.value("timeout"));
        if (!duration) return fail(std::move(duration).error().context("--timeout"));
        request.max_duration = *duration;
    }
    for (const std::string& variable : arguments.values("env")) {
        const auto equals = variable.find('=');
        if (equals == std::string::npos || equals == 0) {
            return fail(Kind::invalid_argument,
                        "--env needs NAME=VALUE, not '" + protocol::escape_foreign(variable) + "'");
        }
        TRY_VOID(check_text("--env", variable));
        request.environment.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
    }
    request.async = arguments.has("async");
    return request;
}

}  // namespace mt
