// mt exec.

#include "sdk/mt/exec_follow.hpp"
#include "sdk/mt/exec_request.hpp"
#include "sdk/mt/exec_terminal.hpp"
#include "sdk/mt/handlers.hpp"
#include "sdk/mt/input_pump.hpp"

#include <csignal>
#include <optional>
#include <unistd.h>

namespace mt {
namespace {

using protocol::fail;
using protocol::Kind;

int print_sent(Context& context, const sdk::Command& command) {
    if (context.json()) {
        context.print_json(command.document);
    } else {
        context.print_foreign(command.id + "\n");
    }
    return exit_success;
}

// --json instead of live output: the command with everything that was kept.
Result<int> print_result(Context& context, const std::string& run, const std::string& id) {
    for (;;) {
        TRY(const sdk::Command command, context.client().reconnecting([&] {
            return context.client().command(run, id, std::chrono::seconds(30));
        }));
        if (!command.has_ended()) continue;
        context.print_json(command.document);
        return report_ended_command(context, command);
    }
}

}  // namespace

Result<int> run_exec(Context& context) {
    const Arguments& arguments = context.arguments();
    const std::string& run = arguments.positional(0);
    const bool interactive = arguments.has("interactive");
    const bool terminal = arguments.has("tty");
    const bool detach = arguments.has("detach");
    TRY(sdk::ExecRequest request, make_exec_request(arguments));
    if (terminal && interactive && !is_terminal(STDIN_FILENO)) {
        return fail(Kind::invalid_argument, "-it needs a terminal as standard input");
    }
    if (detach && (interactive || terminal)) {
        return fail(Kind::invalid_argument, "--detach does not go with -i or -t");
    }
    if (context.json() && (interactive || terminal)) {
        return fail(Kind::invalid_argument, "--json does not go with -i or -t");
    }
    if (interactive) request.input = sdk::ExecRequest::Input::pipe;
    if (terminal) {
        request.terminal = current_terminal_size();
        request.async = true;
    }
    const bool follow = !detach && !terminal && !context.json();
    request.hold_output = follow;

    // A reader of our output that goes away must not end us before the command knows.
    std::signal(SIGPIPE, SIG_IGN);
    if (!follow) {
        TRY(const sdk::Command command, context.client().exec(run, request));
        if (detach) return print_sent(context, command);
        if (context.json()) return print_result(context, run, command.id);
        return run_in_terminal(context, run, command.id, interactive);
    }
    const SignalTrap trap({SIGINT});
    TRY(const sdk::Command command, context.make_client(&trap.interrupt()).exec(run, request));
    std::optional<InputPump> pump;
    if (interactive) pump.emplace(context.settings(), run, command.id, STDIN_FILENO);
    return ExecFollow(context, trap, run, command.id).run();
}

}  // namespace mt
