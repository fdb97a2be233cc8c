// Starting, second half: mounts, secrets, users, packages. A step may be repeated after a restart
// of the daemon: its programs have ids made from the run's, so that the agent attaches to what it
// runs already.

#include "host/sandbox/command_result.hpp"
#include "host/sandbox/run_supervisor.hpp"
#include "host/sandbox/spawn.hpp"
#include "protocol/base/name.hpp"

#include <cstdio>

#include <spdlog/spdlog.h>

namespace host::sandbox {

namespace asio = boost::asio;
using model::RunPhase;

namespace {

constexpr char proxy_address[] = "127.0.0.1:3128";
// The agent's deadline is a net for a daemon that is away; ours comes first, so that commands are
// Aborted with a reason and not merely killed.
constexpr std::int64_t agent_deadline_margin_ms = 1'000;
constexpr std::size_t apt_reason_characters = 1'000;

// Programs of the steps, numbered within their run.
constexpr std::uint16_t first_user_step = 1'000;
constexpr std::uint16_t install_step = 1;
constexpr std::uint16_t update_step = 2;
constexpr std::uint16_t second_install_step = 3;

// The run's own id with the last digits replaced: unique in its machine, and the same after a
// restart.
std::string program_id(const RunId& run, std::uint16_t step) {
    char digits[5];
    std::snprintf(digits, sizeof digits, "%04x", unsigned{step});
    return run.str().substr(0, run.str().size() - 4) + digits;
}

protocol::EnvironmentEntry variable(std::string name, std::string value) {
    protocol::EnvironmentEntry entry;
    entry.name = std::move(name);
    entry.value = std::move(value);
    return entry;
}

// apt's own reason: the lines that begin with "E:", or the end of what it said.
std::string apt_reason(const protocol::CommandReport& report) {
    std::string reasons;
    std::string_view text = report.error.window;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        if (line.starts_with("E:")) {
            if (!reasons.empty()) reasons += "; ";
            reasons += line;
        }
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    if (reasons.empty()) reasons = tail(report.error.window, apt_reason_characters);
    if (reasons.empty()) reasons = "exit code " + std::to_string(report.code);
    return protocol::escape_foreign(reasons, apt_reason_characters);
}

// The lists baked into the image are older than what the archive has now.
bool worth_an_update(const protocol::CommandReport& report) {
    for (const char* sign : {"Unable to locate package", "has no installation candidate", "404",
                             "Unable to fetch", "Failed to fetch", "Hash Sum mismatch"}) {
        if (report.error.window.find(sign) != std::string::npos) return true;
    }
    return false;
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

protocol::Failure packages_failed(const std::vector<std::string>& packages,
                                  const protocol::CommandReport& report) {
    return protocol::Failure(
        protocol::Kind::invalid_argument,
        "Packages could not be installed (" + joined(packages) + "): " + apt_reason(report));
}

std::vector<std::string> install_arguments(const std::vector<std::string>& packages) {
    std::vector<std::string> arguments{"install", "-y", "--no-install-recommends", "-o",
                                       "DPkg::Lock::Timeout=120"};
    arguments.insert(arguments.end(), packages.begin(), packages.end());
    return arguments;
}

}  // namespace

Async<void> RunSupervisor::configure() {
    CO_TRY_VOID(still_wanted());
    const auto& definition = record_.definition;
    protocol::MachineConfigure request;
    request.hostname = record_.capsule.name;
    request.clock_unix_ns = core_->clock.unix_ms() * 1'000'000;
    request.deadline_ms = static_cast<std::uint64_t>(left_ms() + agent_deadline_margin_ms);
    for (const model::Variable& own : definition.environment) {
        request.environment.push_back(variable(own.name, own.value));
    }
    if (definition.network.mode != "none" && core_->parts.egress_tunnel) {
        request.proxy = proxy_address;
    }
    if (core_->parts.api_tunnel) request.run_id = record_.id.str();
    request.namespace_name = record_.capsule.space;
    auto configured = co_await guest_->configure(std::move(request));
    if (!configured) {
        co_return protocol::fail(std::move(configured).error().context("configure the machine"));
    }
    co_return Result<void>();
}

Async<void> RunSupervisor::mount_all() {
    const auto& definition = record_.definition;
    if (definition.vfs.empty() && definition.secrets.empty()) co_return still_wanted();
    CO_TRY_VOID(enter_phase(RunPhase::mounting));
    for (std::size_t i = 0; i < definition.vfs.size(); ++i) {
        protocol::Mount request;
        request.tag = "vfs" + std::to_string(i);
        request.name = definition.vfs[i].mount_name;
        request.read_only = definition.vfs[i].read_only;
        auto mounted = co_await guest_->mount(std::move(request));
        if (!mounted) {
            co_return protocol::fail(std::move(mounted).error().context(
                "mount the VFS \"" + definition.vfs[i].vfs.name + "\""));
        }
        CO_TRY_VOID(still_wanted());
    }
    for (const model::SecretMount& mount : definition.secrets) {
        CO_TRY(const auto secret, core_->database.find_secret(mount.secret));
        if (!secret) {
            co_return protocol::fail(protocol::Kind::not_found,
                                     "secret \"" + mount.secret.name + "\" is gone");
        }
        CO_TRY(std::string value,
               core_->parts.vault.open(secret_label(mount.secret), secret->sealed));
        auto written = co_await guest_->write_secret(mount.mount_name, std::move(value));
        if (!written) {
            co_return protocol::fail(std::move(written).error().context("write the secret \"" +
                                                                        mount.secret.name + "\""));
        }
        CO_TRY_VOID(still_wanted());
    }
    co_return Result<void>();
}

Async<protocol::CommandReport> RunSupervisor::run_program(std::uint16_t step, std::string program,
                                                          std::vector<std::string> arguments) {
    CO_TRY_VOID(still_wanted());
    protocol::CommandStart request;
    request.id = program_id(record_.id, step);
    request.program = std::move(program);
    request.arguments = std::move(arguments);
    request.user = "root";
    request.working_directory = "/";
    request.environment.push_back(variable("DEBIAN_FRONTEND", "noninteractive"));
    programs_.push_back(request.id);
    std::function<void()> started = [] {};
    auto report = co_await guest_->run(std::move(request), std::move(started));
    CO_TRY_VOID(still_wanted());
    co_return report;
}

// After the phase that ran them is over: a repeated step must find them.
asio::awaitable<void> RunSupervisor::forget_programs() {
    const std::vector<std::string> ids = std::exchange(programs_, {});
    for (const std::string& id : ids) {
        // A result that stays costs the agent a little memory, until the run's end.
        static_cast<void>(co_await guest_->forget(id));
    }
}

Async<void> RunSupervisor::create_users() {
    const auto& users = record_.definition.users;
    if (users.empty()) co_return still_wanted();
    CO_TRY_VOID(enter_phase(RunPhase::users));
    for (std::size_t i = 0; i < users.size(); ++i) {
        std::vector<std::string> arguments;
        arguments.insert(arguments.end(), {"-m", "-s", "/bin/bash"});
        arguments.push_back(users[i]);
        const auto step = static_cast<std::uint16_t>(first_user_step + i);
        auto report = co_await run_program(step, "useradd", std::move(arguments));
        if (!report) co_return protocol::fail(std::move(report).error());
        if (succeeded(*report)) continue;
        std::string reason = tail(report->error.window, apt_reason_characters);
        if (reason.empty()) reason = "exit code " + std::to_string(report->code);
        co_return protocol::fail(protocol::Kind::invalid_argument,
                                 "User \"" + users[i] + "\" could not be created: " +
                                     protocol::escape_foreign(reason, apt_reason_characters));
    }
    co_return Result<void>();
}

Async<void> RunSupervisor::install_packages() {
    const auto& packages = record_.definition.packages;
    if (packages.empty()) co_return still_wanted();
    CO_TRY_VOID(enter_phase(RunPhase::packages));
    co_await forget_programs();
    auto first = co_await run_program(install_step, "apt-get", install_arguments(packages));
    if (!first) co_return protocol::fail(std::move(first).error());
    if (succeeded(*first)) co_return Result<void>();
    if (!worth_an_update(*first)) co_return protocol::fail(packages_failed(packages, *first));

    std::vector<std::string> update;
    update.emplace_back("update");
    auto updated = co_await run_program(update_step, "apt-get", std::move(update));
    if (!updated) co_return protocol::fail(std::move(updated).error());
    if (!succeeded(*updated)) {
        spdlog::info("apt-get update failed run={} reason={}", record_.id.str(),
                     apt_reason(*updated));
    }
    auto second = co_await run_program(second_install_step, "apt-get", install_arguments(packages));
    if (!second) co_return protocol::fail(std::move(second).error());
    if (succeeded(*second)) co_return Result<void>();
    co_return protocol::fail(packages_failed(packages, *second));
}

}  // namespace host::sandbox
