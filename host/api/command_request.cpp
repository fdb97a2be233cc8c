#include "host/api/command_request.hpp"

#include "host/api/exchange.hpp"
#include "host/model/defaults.hpp"
#include "protocol/base/duration.hpp"
#include "protocol/base/name.hpp"
#include "protocol/wire/limits.hpp"

#include <boost/describe.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace host::api {

namespace json = boost::json;
using protocol::fail;
using protocol::Failure;
using protocol::Kind;
using protocol::Result;

namespace {

struct CommandBody {
    CommandBody() = default;
    std::string command;
    std::optional<std::vector<std::string>> arguments;
    std::optional<std::string> run_as_user;
    std::optional<json::value> max_duration;
    std::optional<bool> async;
    std::optional<json::value> environment;
    std::optional<std::string> working_directory;
    std::optional<json::value> stdin;  // NOLINT: a macro of <cstdio> that stands for itself
    std::optional<bool> hold_output;
    std::optional<protocol::TerminalSize> terminal;
};
BOOST_DESCRIBE_STRUCT(CommandBody, (),
                      (command, arguments, run_as_user, max_duration, async, environment,
                       working_directory, stdin, hold_output, terminal))

Result<std::uint64_t> read_duration(const json::value& value) {
    constexpr auto longest = std::chrono::milliseconds(model::defaults::max_duration_limit);
    std::chrono::milliseconds duration(0);
    if (const json::string* text = value.if_string()) {
        auto parsed = protocol::parse_duration(std::string_view(*text));
        if (!parsed)
            return fail(Kind::invalid_argument, "$.maxDuration: " + parsed.error().message());
        duration = *parsed;
    } else if (const std::int64_t* number = value.if_int64()) {
        duration = std::chrono::milliseconds(std::min<std::int64_t>(*number, longest.count() + 1));
    } else {
        return fail(Kind::invalid_argument,
                    "$.maxDuration: expected \"hh:mm:ss\" or a number of milliseconds");
    }
    if (duration.count() < 1 || duration > longest) {
        return fail(Kind::invalid_argument, "$.maxDuration: must be more than zero and at most " +
                                                protocol::format_duration(longest));
    }
    return static_cast<std::uint64_t>(duration.count());
}

Result<std::vector<model::Variable>> read_environment(const json::value& value) {
    const json::object* object = value.if_object();
    if (!object)
        return fail(Kind::invalid_argument, "$.environment: expected an object of strings");
    std::vector<model::Variable> result;
    for (const auto& entry : *object) {
        const std::string member = "$.environment." + protocol::escape_foreign(entry.key(), 80);
        const json::string* text = entry.value().if_string();
        if (!text) return fail(Kind::invalid_argument, member + ": expected a string");
        model::Variable variable;
        variable.name = std::string_view(entry.key());
        variable.value = std::string_view(*text);
        if (variable.name.empty() ||
            variable.name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
            return fail(Kind::invalid_argument, member + ": not a variable name");
        }
        result.push_back(std::move(variable));
    }
    return result;
}

// "none", "pipe" or {"text": "..."}.
Result<void> read_stdin(const json::value& value, sandbox::CommandRequest& request) {
    if (value == json::value("none")) return {};
    const json::object* object = value.if_object();
    if (value != json::value("pipe") && !object) {
        return fail(Kind::invalid_argument,
                    "$.stdin: expected \"none\", \"pipe\" or {\"text\": \"...\"}");
    }
    request.input = true;
    if (!object) return {};
    const json::value* text = object->if_contains("text");
    if (!text || !text->is_string())
        return fail(Kind::invalid_argument, "$.stdin.text: expected a string");
    if (object->size() != 1) {
        return fail(Failure::with_code(Kind::invalid_argument, "unknown-member",
                                       "$.stdin: has a member beside \"text\""));
    }
    request.input_text = std::string_view(text->get_string());
    return {};
}

// No program can be given a NUL; cutting a text there would run something else than was asked for.
Result<void> refuse_nul(const std::string& text, const std::string& member) {
    if (text.find('\0') == std::string::npos) return {};
    return fail(Kind::invalid_argument, member + ": contains a NUL character");
}

Result<void> check(const sandbox::CommandRequest& request) {
    TRY_VOID(refuse_nul(request.command, "$.command"));
    if (request.command.find_first_not_of(" \t\r\n") == std::string::npos) {
        return fail(Kind::invalid_argument, "$.command: is empty");
    }
    if (request.arguments.size() > protocol::limits::arguments) {
        return fail(Kind::invalid_argument,
                    "$.arguments: more than " + std::to_string(protocol::limits::arguments));
    }
    for (std::size_t i = 0; i < request.arguments.size(); ++i) {
        TRY_VOID(refuse_nul(request.arguments[i], "$.arguments[" + std::to_string(i) + "]"));
    }
    TRY_VOID(refuse_nul(request.run_as_user, "$.runAsUser"));
    for (const auto& variable : request.environment) {
        TRY_VOID(refuse_nul(variable.value,
                            "$.environment." + protocol::escape_foreign(variable.name, 80)));
    }
    TRY_VOID(refuse_nul(request.working_directory, "$.workingDirectory"));
    if (!request.working_directory.empty() && request.working_directory.front() != '/') {
        return fail(Kind::invalid_argument, "$.workingDirectory: is not an absolute path");
    }
    if (request.terminal && (request.terminal->rows == 0 || request.terminal->columns == 0)) {
        return fail(Kind::invalid_argument, "$.terminal: rows and columns must be at least 1");
    }
    return {};
}

}  // namespace

Result<sandbox::CommandRequest> parse_command(const std::string& text) {
    TRY(CommandBody body, decode<CommandBody>(text));
    sandbox::CommandRequest request;
    request.command = std::move(body.command);
    if (body.arguments) request.arguments = std::move(*body.arguments);
    if (body.run_as_user) request.run_as_user = std::move(*body.run_as_user);
    if (body.max_duration) {
        TRY(request.max_duration_ms, read_duration(*body.max_duration));
    }
    request.async = body.async.value_or(false);
    if (body.environment) {
        TRY(request.environment, read_environment(*body.environment));
    }
    if (body.working_directory) request.working_directory = std::move(*body.working_directory);
    if (body.stdin) TRY_VOID(read_stdin(*body.stdin, request));
    request.hold_output = body.hold_output.value_or(false);
    request.terminal = body.terminal;
    TRY_VOID(check(request));
    return request;
}

}  // namespace host::api
