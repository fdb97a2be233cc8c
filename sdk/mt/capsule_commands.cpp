// mt capsule.

#include "sdk/mt/context.hpp"
#include "sdk/mt/handlers.hpp"
#include "sdk/mt/run_watcher.hpp"
#include "sdk/mt/signal_trap.hpp"

#include <csignal>
#include <unistd.h>

namespace mt {
namespace {

using protocol::fail;

void print_phase(const std::string& line) {
    write_all(STDERR_FILENO, presentable(line, is_terminal(STDERR_FILENO)) + "\n");
}

// Waits for the end; the first Ctrl-C stops the run, a second one leaves.
Result<sdk::Run> wait_for_end(Context& context, sdk::Client& client, const SignalTrap& trap,
                              const std::string& id) {
    auto ended = client.wait_run(id, sdk::Until::ended);
    if (ended || !sdk::is_interrupted(ended.error())) return ended;
    context.note("stopping run " + id);
    trap.interrupt().clear();
    return client.terminate(id);
}

}  // namespace

Result<int> list_capsules(Context& context) {
    TRY(const auto capsules, context.client().capsules(context.space()));
    if (context.json()) {
        boost::json::array documents;
        for (const sdk::Named& capsule : capsules) documents.push_back(capsule.document);
        context.print_json(documents);
        return exit_success;
    }
    Table table({"NAME", "DEPLOYED"});
    for (const sdk::Named& capsule : capsules) {
        table.add(
            {capsule.name, capsule.updated_at.empty() ? capsule.created_at : capsule.updated_at});
    }
    context.print_table(table);
    return exit_success;
}

Result<int> show_capsule(Context& context) {
    TRY(const sdk::Named capsule,
        context.client().capsule(context.space(), context.arguments().positional(0)));
    if (context.json()) {
        context.print_json(capsule.document);
        return exit_success;
    }
    const auto* source = capsule.document.if_contains("source");
    if (source == nullptr || !source->is_string()) {
        context.print_json(capsule.document);
        return exit_success;
    }
    std::string text(source->get_string());
    if (!text.ends_with('\n')) text.push_back('\n');
    context.print_foreign(text);
    return exit_success;
}

Result<int> run_capsule(Context& context) {
    const SignalTrap trap({SIGINT});
    sdk::Client client = context.make_client(&trap.interrupt());
    TRY_VOID(client.open());
    sdk::Run run;
    {
        RunWatcher watcher(context.settings(), print_phase);
        TRY(run, client.start(context.space(), context.arguments().positional(0)));
        context.note("run " + run.id);
        watcher.watch(run.id);
        auto ended = wait_for_end(context, client, trap, run.id);
        if (!ended && sdk::is_interrupted(ended.error())) {
            context.note("not waiting any longer; see `mt runs show " + run.id + "`");
            return exit_negative;
        }
        if (!ended) return fail(std::move(ended).error());
        run = std::move(*ended);
    }
    if (!run.failure_details.empty()) context.note(run.failure_details);
    if (context.json()) {
        context.print_json(run.document);
    } else {
        context.print_foreign("Capsule finished: " + run.status + "\n");
    }
    return run.status == "Finished" ? exit_success : exit_negative;
}

Result<int> start_capsule(Context& context) {
    TRY(sdk::Run run, context.client().start(context.space(), context.arguments().positional(0)));
    if (context.arguments().has("wait")) {
        const std::string id = run.id;
        TRY(run, context.client().wait_run(id, sdk::Until::started));
    }
    if (context.json()) {
        context.print_json(run.document);
    } else {
        context.print_foreign(run.id + "\n");
    }
    if (run.has_ended() && run.status != "Finished") {
        context.note(run.failure_details.empty() ? "the run ended: " + run.status
                                                 : run.failure_details);
        return exit_negative;
    }
    return exit_success;
}

Result<int> delete_capsule(Context& context) {
    TRY_VOID(context.client().delete_capsule(context.space(), context.arguments().positional(0)));
    return exit_success;
}

}  // namespace mt
