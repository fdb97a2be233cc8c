// mt runs, commands and events.

#include "protocol/wire/json_codec.hpp"
#include "sdk/cpp/event_stream.hpp"
#include "sdk/mt/context.hpp"
#include "sdk/mt/handlers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <unistd.h>
#include <utility>

#include <boost/json/serialize.hpp>

namespace mt {
namespace {

using protocol::fail;
using protocol::Kind;

constexpr std::size_t default_page = 50;

// "NAME: VALUE" lines, aligned; empty values are left out.
void print_fields(Context& context,
                  const std::vector<std::pair<std::string_view, std::string>>& fields) {
    std::size_t width = 0;
    for (const auto& [name, value] : fields) {
        if (!value.empty()) width = std::max(width, name.size());
    }
    for (const auto& [name, value] : fields) {
        if (value.empty()) continue;
        std::string line(name);
        line.append(":").append(width - name.size() + 1, ' ').append(value).append("\n");
        context.print_foreign(line);
    }
}

void print_run(Context& context, const sdk::Run& run) {
    if (context.json()) return context.print_json(run.document);
    print_fields(context, {{"id", run.id},
                           {"namespace", run.space},
                           {"capsule", run.capsule},
                           {"status", run.status},
                           {"phase", run.phase == "none" ? "" : run.phase},
                           {"failure", run.failure_details},
                           {"created", run.created_at},
                           {"ready", run.ready_at},
                           {"ended", run.ended_at},
                           {"limit", run.max_duration},
                           {"runs on", run.accelerator + ", " + run.transport},
                           {"image", run.image},
                           {"started by", run.started_by}});
}

std::string whole_command(const sdk::Command& command) {
    std::string text = command.command;
    for (const std::string& argument : command.arguments) text += " " + argument;
    return text;
}

std::string short_text(const std::string& text, std::size_t limit) {
    if (text.size() <= limit) return text;
    std::size_t end = limit;
    while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // not within a character
    return text.substr(0, end) + "...";
}

std::string exit_text(const sdk::Command& command) {
    return command.exit_code ? std::to_string(*command.exit_code) : std::string();
}

void print_output(Context& context, std::string_view title, const std::string& text,
                  std::optional<std::uint64_t> full_length) {
    if (text.empty()) return;
    std::string heading = "---- " + std::string(title);
    if (full_length) {
        heading += " (the end of " + std::to_string(*full_length) + " characters)";
    }
    context.print(heading + "\n");
    context.print_foreign(text.ends_with('\n') ? text : text + "\n");
}

void print_command(Context& context, const sdk::Command& command) {
    if (context.json()) return context.print_json(command.document);
    print_fields(context, {{"id", command.id},
                           {"command", whole_command(command)},
                           {"user", command.run_as_user},
                           {"status", command.status},
                           {"exit code", exit_text(command)},
                           {"end reason", command.end_reason},
                           {"reason", command.reason},
                           {"created", command.created_at},
                           {"started", command.started_at},
                           {"ended", command.ended_at}});
    print_output(context, "standard output", command.output_standard,
                 command.output_standard_full_length);
    print_output(context, "error output", command.output_error, command.output_error_full_length);
}

Result<std::size_t> read_number(const Arguments& arguments, std::string_view option,
                                std::size_t otherwise) {
    const std::string text = arguments.value(option);
    if (text.empty()) return otherwise;
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number == 0) {
        return fail(Kind::invalid_argument,
                    "--" + std::string(option) + " needs a number above zero");
    }
    return number;
}

}  // namespace

// ---- runs -----------------------------------------------------------------------------------

Result<int> list_runs(Context& context) {
    const Arguments& arguments = context.arguments();
    TRY(const std::size_t limit, read_number(arguments, "limit", default_page));
    sdk::RunFilter filter;
    if (!arguments.has("all")) filter.space = context.space();
    filter.status = arguments.value("status");
    filter.live_only = arguments.has("live");
    std::vector<sdk::Run> runs;
    do {
        filter.limit = std::min<std::size_t>(limit - runs.size(), 1000);
        TRY(auto page, context.client().runs(filter));
        for (sdk::Run& run : page.items) runs.push_back(std::move(run));
        filter.after = page.next;
    } while (!filter.after.empty() && runs.size() < limit);

    if (context.json()) {
        boost::json::array documents;
        for (const sdk::Run& run : runs) documents.push_back(run.document);
        context.print_json(documents);
        return exit_success;
    }
    Table table({"ID", "CAPSULE", "STATUS", "CREATED", "ENDED"});
    for (const sdk::Run& run : runs) {
        table.add({run.id, arguments.has("all") ? run.space + "." + run.capsule : run.capsule,
                   run.phase == "ending" ? run.status + " (ending)" : run.status, run.created_at,
                   run.ended_at});
    }
    context.print_table(table);
    return exit_success;
}

Result<int> show_run(Context& context) {
    TRY(const sdk::Run run, context.client().run(context.arguments().positional(0)));
    print_run(context, run);
    return exit_success;
}

Result<int> stop_run(Context& context) {
    TRY(const sdk::Run run, context.client().terminate(context.arguments().positional(0)));
    if (context.json()) {
        context.print_json(run.document);
    } else {
        context.print_foreign(run.status + "\n");
    }
    return exit_success;
}

Result<int> show_console(Context& context) {
    TRY_VOID(context.client().console(context.arguments().positional(0),
                                      [&](std::string_view bytes) -> Result<void> {
                                          context.print_foreign(bytes);
                                          return {};
                                      }));
    return exit_success;
}

Result<int> ping_run(Context& context) {
    const Arguments& arguments = context.arguments();
    TRY(const std::size_t count, read_number(arguments, "count", 1));
    std::vector<std::int64_t> times;
    while (times.size() < count) {
        TRY(const auto took, context.client().ping(arguments.positional(0)));
        times.push_back(took.count());
        if (!context.json()) context.print(std::to_string(took.count()) + " us\n");
    }
    if (context.json()) {
        boost::json::object document;
        document["roundTripUs"] = boost::json::array(times.begin(), times.end());
        context.print_json(document);
    } else if (count > 1) {
        std::sort(times.begin(), times.end());
        context.print("median " + std::to_string(times[count / 2]) + " us, " +
                      std::to_string(times.front()) + " to " + std::to_string(times.back()) + "\n");
    }
    return exit_success;
}

// ---- commands -------------------------------------------------------------------------------

Result<int> list_commands(Context& context) {
    std::vector<sdk::Command> commands;
    std::string after;
    do {
        TRY(auto page, context.client().commands(context.arguments().positional(0), after));
        for (sdk::Command& command : page.items) commands.push_back(std::move(command));
        after = page.next;
    } while (!after.empty());
    if (context.json()) {
        boost::json::array documents;
        for (const sdk::Command& command : commands) documents.push_back(command.document);
        context.print_json(documents);
        return exit_success;
    }
    Table table({"ID", "STATUS", "EXIT", "USER", "COMMAND"});
    for (const sdk::Command& command : commands) {
        table.add({command.id, command.status, exit_text(command), command.run_as_user,
                   short_text(whole_command(command), 60)});
    }
    context.print_table(table);
    return exit_success;
}

Result<int> show_command(Context& context) {
    const Arguments& arguments = context.arguments();
    TRY(const sdk::Command command,
        context.client().command(arguments.positional(0), arguments.positional(1)));
    print_command(context, command);
    return exit_success;
}

Result<int> kill_command(Context& context) {
    static constexpr std::array<std::pair<std::string_view, int>, 10> names{{
        {"HUP", 1},
        {"INT", 2},
        {"QUIT", 3},
        {"KILL", 9},
        {"USR1", 10},
        {"USR2", 12},
        {"TERM", 15},
        {"CONT", 18},
        {"STOP", 19},
        {"WINCH", 28},
    }};
    const Arguments& arguments = context.arguments();
    const std::string text = arguments.has("signal") ? arguments.value("signal") : "KILL";
    int signal = 0;
    std::string_view name = text;
    if (name.starts_with("SIG")) name.remove_prefix(3);
    for (const auto& [known, number] : names) {
        if (name == known) signal = number;
    }
    if (signal == 0) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), signal);
        if (error != std::errc{} || end != text.data() + text.size() || signal < 1 || signal > 64) {
            return fail(Kind::invalid_argument, "--signal needs a name like TERM, or 1 to 64");
        }
    }
    TRY(const sdk::Command command,
        context.client().kill(arguments.positional(0), arguments.positional(1), signal));
    if (context.json()) context.print_json(command.document);
    return exit_success;
}

// ---- events ---------------------------------------------------------------------------------

Result<int> run_events(Context& context) {
    sdk::EventStream events(context.settings());
    std::string last = context.arguments().value("after");
    TRY_VOID(events.open(last));
    for (;;) {
        auto event = events.next();
        if (!event) {
            if (!sdk::is_connection_failure(event.error())) return fail(std::move(event).error());
            TRY_VOID(context.client().reconnecting([&] { return events.open(last); }));
            continue;
        }
        last = event->id;
        const auto data = protocol::parse_json(event->data);
        const auto* details = data ? data->if_object() : nullptr;
        std::string line;
        if (context.json()) {
            line = (data ? boost::json::serialize(*data) : event->data) + "\n";
        } else if (details == nullptr) {
            line = event->id + "  " + event->type + "  " + event->data + "\n";
        } else {
            line = event->id;
            for (const char* name : {"at", "type", "namespace", "data"}) {
                const auto* value = details->if_contains(name);
                if (value == nullptr) continue;
                line += "  ";
                line += value->is_string() ? std::string(value->get_string())
                                           : boost::json::serialize(*value);
            }
            line += "\n";
        }
        context.print_foreign(line);
    }
}

}  // namespace mt
