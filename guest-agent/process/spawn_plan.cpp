#include "guest-agent/process/spawn_plan.hpp"

#include "protocol/text/shell_text.hpp"
#include "protocol/wire/limits.hpp"

#include <algorithm>

namespace guest_agent {
namespace {

using protocol::CommandStart;
using protocol::EnvironmentEntry;
using protocol::Kind;
using protocol::Result;

// Debian's defaults, from login(1)'s configuration and /etc/profile.
constexpr std::string_view root_path =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::string_view user_path = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games";

class Environment {
  public:
    void set(std::string_view name, std::string_view value) {
        const auto same = [&](const EnvironmentEntry& entry) { return entry.name == name; };
        auto found = std::find_if(entries_.begin(), entries_.end(), same);
        if (found == entries_.end()) found = entries_.insert(found, EnvironmentEntry());
        found->name = name;
        found->value = value;
    }
    std::string_view get(std::string_view name) const {
        for (const auto& entry : entries_) {
            if (entry.name == name) return entry.value;
        }
        return {};
    }
    std::vector<std::string> lines() const {
        std::vector<std::string> out;
        out.reserve(entries_.size());
        for (const auto& entry : entries_) out.push_back(entry.name + "=" + entry.value);
        return out;
    }

  private:
    std::vector<EnvironmentEntry> entries_;
};

bool has_nul(std::string_view text) {
    return text.find('\0') != std::string_view::npos;
}

Result<void> refuse(std::string why) {
    return protocol::fail(Kind::invalid_argument, std::move(why));
}

Result<void> check_strings(const CommandStart& request) {
    for (std::size_t i = 0; i < request.arguments.size(); ++i) {
        if (has_nul(request.arguments[i])) {
            return refuse("arguments[" + std::to_string(i) + "] contains a NUL byte");
        }
    }
    for (const auto& [name, value] : request.environment) {
        if (name.empty() || has_nul(name) || name.find('=') != std::string::npos ||
            has_nul(value)) {
            return refuse(
                "environment: a name is empty or contains '=' or NUL, or a value a NUL byte");
        }
    }
    if (request.working_directory) {
        const auto& directory = *request.working_directory;
        if (directory.empty() || directory.front() != '/' || has_nul(directory)) {
            return refuse("working_directory is not an absolute path");
        }
    }
    return {};
}

std::string_view base_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

void plan_shell(SpawnPlan& plan, const Account& account, std::string text,
                const std::vector<std::string>& arguments) {
    // $0 is what the shell's own messages begin with ("-bash: line 1: ..."), and arguments start at
    // $1. The environment of a login is given here, so the shell is not told to be a login shell:
    // reading /etc/profile and ~/.profile costs more than the shell itself (it doubles the time of
    // `true`), and a broken ~/.profile would break every command.
    const std::string name(base_name(account.shell));
    plan.programs = {account.shell};
    plan.program_name = account.shell;
    plan.arguments = {name, "-c", std::move(text), "-" + name};
    plan.arguments.insert(plan.arguments.end(), arguments.begin(), arguments.end());
}

void plan_program(SpawnPlan& plan, const std::string& program, std::string_view path,
                  const std::vector<std::string>& arguments) {
    plan.program_name = program;
    plan.arguments = {program};
    plan.arguments.insert(plan.arguments.end(), arguments.begin(), arguments.end());
    if (program.find('/') != std::string::npos) {
        plan.programs = {program};
        return;
    }
    while (!path.empty()) {
        const auto end = path.find(':');
        const auto folder = path.substr(0, end);
        path = end == std::string_view::npos ? std::string_view{} : path.substr(end + 1);
        // An empty folder would mean the current one: never for the host's own steps.
        if (!folder.empty()) plan.programs.push_back(std::string(folder) + "/" + program);
    }
}

}  // namespace

Result<void> check_request(const CommandStart& request) {
    if (request.shell.has_value() == request.program.has_value()) {
        return refuse("exactly one of shell and program must be given");
    }
    if (request.program && (request.program->empty() || has_nul(*request.program))) {
        return refuse("program is empty or contains a NUL byte");
    }
    if (request.arguments.size() > protocol::limits::arguments) return refuse("too many arguments");
    if (request.environment.size() > protocol::limits::environment_entries) {
        return refuse("too many environment entries");
    }
    if (request.limit_ms && *request.limit_ms == 0) return refuse("limit_ms is zero");
    if (request.shell) {
        const auto with = request.arguments.empty() ? protocol::ShellArguments::none
                                                    : protocol::ShellArguments::some;
        if (auto text = protocol::prepare_shell_text(*request.shell, with); !text) {
            return protocol::fail(std::move(text).error());
        }
    }
    return check_strings(request);
}

Result<SpawnPlan> plan_spawn(const CommandStart& request, const Account& account,
                             const std::vector<EnvironmentEntry>& machine) {
    TRY_VOID(check_request(request));
    Environment environment;
    environment.set("HOME", account.home);
    environment.set("USER", account.name);
    environment.set("LOGNAME", account.name);
    environment.set("SHELL", account.shell);
    environment.set("PATH", account.uid == 0 ? root_path : user_path);
    environment.set("LANG", "C.UTF-8");
    if (request.terminal) environment.set("TERM", "xterm-256color");
    for (const auto& entry : machine) environment.set(entry.name, entry.value);
    for (const auto& entry : request.environment) environment.set(entry.name, entry.value);

    SpawnPlan plan;
    if (request.shell) {
        const auto with = request.arguments.empty() ? protocol::ShellArguments::none
                                                    : protocol::ShellArguments::some;
        TRY(std::string text, protocol::prepare_shell_text(*request.shell, with));
        plan_shell(plan, account, std::move(text), request.arguments);
    } else {
        plan_program(plan, *request.program, environment.get("PATH"), request.arguments);
    }
    plan.environment = environment.lines();
    plan.directory = request.working_directory.value_or(account.home);
    plan.directory_required = request.working_directory.has_value();
    plan.uid = account.uid;
    plan.gid = account.gid;
    plan.groups = account.groups;
    if (request.terminal) {
        plan.input = InputSource::terminal;
        plan.terminal = *request.terminal;
    } else if (request.input) {
        plan.input = InputSource::pipe;
    }
    return plan;
}

std::vector<EnvironmentEntry> parse_environment_file(std::string_view text) {
    std::vector<EnvironmentEntry> entries;
    while (!text.empty() && entries.size() < protocol::limits::environment_entries) {
        const auto end = text.find('\n');
        const auto line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        const auto equals = line.find('=');
        if (line.empty() || line.front() == '#' || equals == 0 ||
            equals == std::string_view::npos) {
            continue;
        }
        EnvironmentEntry entry;
        entry.name = line.substr(0, equals);
        entry.value = line.substr(equals + 1);
        if (!has_nul(line)) entries.push_back(std::move(entry));
    }
    return entries;
}

}  // namespace guest_agent
