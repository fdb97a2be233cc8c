// Commands: send, look, wait, kill, follow.

#include "host/sandbox/command_result.hpp"
#include "host/sandbox/command_streams.hpp"
#include "host/sandbox/paging.hpp"
#include "host/sandbox/refusals.hpp"
#include "host/sandbox/service_impl.hpp"
#include "protocol/base/name.hpp"
#include "protocol/text/shell_text.hpp"
#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/limits.hpp"

#include <algorithm>

#include <boost/json/serialize.hpp>

namespace host::sandbox {

namespace {

// A killed process is reported gone after limits::kill_grace at the latest.
constexpr auto kill_wait = protocol::limits::kill_grace + std::chrono::seconds(1);
// The request travels as one control payload, in which escaping can make a byte six.
constexpr std::size_t request_bytes = protocol::limits::control_payload_bytes - (64u << 10);

Result<void> check_text(const std::string& name, const std::string& value) {
    if (value.find('\0') == std::string::npos) return {};
    return protocol::fail(invalid(name + " must not contain a NUL character"));
}

Result<void> check_environment(const std::vector<model::Variable>& environment) {
    if (environment.size() > protocol::limits::environment_entries) {
        return protocol::fail(invalid("environment has at most " +
                                      std::to_string(protocol::limits::environment_entries) +
                                      " entries"));
    }
    for (const model::Variable& variable : environment) {
        if (variable.name.empty() || variable.name.find('=') != std::string::npos) {
            return protocol::fail(invalid("environment: \"" +
                                          protocol::escape_foreign(variable.name, 80) +
                                          "\" is not a variable name"));
        }
        TRY_VOID(check_text("environment", variable.name));
        TRY_VOID(check_text("environment." + variable.name, variable.value));
    }
    return {};
}

// Stands for the whole request in an idempotency record.
std::string fingerprint(const CommandRequest& request) {
    boost::json::array all;
    all.emplace_back(request.command);
    for (const std::string& argument : request.arguments) all.emplace_back(argument);
    all.emplace_back(request.run_as_user);
    all.emplace_back(request.max_duration_ms.value_or(0));
    all.emplace_back(request.async);
    all.emplace_back(request.input);
    if (request.input_text) all.emplace_back(boost::json::array{*request.input_text});
    all.emplace_back(request.hold_output);
    all.emplace_back(request.terminal.has_value());
    for (const model::Variable& variable : request.environment) {
        all.emplace_back(variable.name);
        all.emplace_back(variable.value);
    }
    all.emplace_back(request.working_directory);
    return boost::json::serialize(all);
}

model::CommandRecord record_of(CommandRequest request, const RunId& run, protocol::CommandId id) {
    model::CommandRecord record(std::move(id), run);
    record.command = std::move(request.command);
    record.arguments = std::move(request.arguments);
    record.run_as_user = std::move(request.run_as_user);
    record.max_duration_ms = request.max_duration_ms;
    record.async = request.async;
    record.input = request.input || request.input_text.has_value() || request.terminal.has_value();
    record.input_text = std::move(request.input_text);
    record.hold_output = request.hold_output;
    if (request.terminal) {
        record.terminal_rows = request.terminal->rows;
        record.terminal_columns = request.terminal->columns;
    }
    record.environment = std::move(request.environment);
    record.working_directory = std::move(request.working_directory);
    return record;
}

protocol::Failure command_not_found(const protocol::CommandId& id) {
    return not_found("command " + id.str());
}

}  // namespace

Result<void> ServiceImpl::check_request(const CommandRequest& request) const {
    auto text = protocol::prepare_shell_text(request.command, request.arguments.empty()
                                                                  ? protocol::ShellArguments::none
                                                                  : protocol::ShellArguments::some);
    if (!text) return protocol::fail(invalid("command: " + text.error().message()));
    if (request.arguments.size() > protocol::limits::arguments) {
        return protocol::fail(invalid("arguments has at most " +
                                      std::to_string(protocol::limits::arguments) + " entries"));
    }
    for (std::size_t i = 0; i < request.arguments.size(); ++i) {
        TRY_VOID(check_text("arguments[" + std::to_string(i) + "]", request.arguments[i]));
    }
    TRY_VOID(check_text("runAsUser", request.run_as_user));
    TRY_VOID(check_text("workingDirectory", request.working_directory));
    if (!request.working_directory.empty() && request.working_directory.front() != '/') {
        return protocol::fail(invalid("workingDirectory must be an absolute path"));
    }
    TRY_VOID(check_environment(request.environment));
    const auto longest = std::chrono::milliseconds(model::defaults::max_duration_limit).count();
    if (request.max_duration_ms &&
        (*request.max_duration_ms == 0 ||
         *request.max_duration_ms > static_cast<std::uint64_t>(longest))) {
        return protocol::fail(invalid("maxDuration must be above zero and at most 24:00:00"));
    }
    return {};
}

Result<std::shared_ptr<RunSupervisor>> ServiceImpl::live_run(const Principal& principal,
                                                             const RunId& id) {
    TRY(const auto record, find_run(principal, id));
    auto run = core_->find(id);
    if (!run || run->ending()) {
        const auto status = record.pending_status.value_or(record.status);
        return protocol::fail(
            run_ended("the capsule has ended (" + std::string(to_string(status)) + ")"));
    }
    return run;
}

Result<model::CommandRecord> ServiceImpl::exec(const Principal& principal, const RunId& run_id,
                                               CommandRequest request,
                                               std::string idempotency_key) {
    TRY(const auto owner, find_run(principal, run_id));
    std::optional<journal::IdempotencyRecord> key;
    auto id = protocol::CommandId::random();
    if (!idempotency_key.empty()) {
        key.emplace();
        key->scope = principal.name + " exec " + run_id.str();
        key->key = std::move(idempotency_key);
        key->fingerprint = fingerprint(request);
        TRY(const auto earlier, database_.find_idempotent(key->scope, key->key));
        if (earlier) {
            if (earlier->fingerprint != key->fingerprint) {
                return protocol::fail(idempotency_mismatch());
            }
            TRY(const auto same, protocol::CommandId::parse(earlier->target));
            TRY(auto found, database_.find_command(run_id, same));
            if (!found) return protocol::fail(command_not_found(same));
            return std::move(*found);
        }
        key->target = id.str();
        key->run = run_id.str();
    }
    TRY_VOID(check_request(request));
    TRY(const auto run, live_run(principal, run_id));
    model::CommandRecord record = record_of(std::move(request), run_id, std::move(id));
    record.created_at = core_->clock.unix_ms();
    const std::size_t size =
        boost::json::serialize(protocol::to_json(start_request(record, run->record().definition)))
            .size();
    if (size > request_bytes) {
        return protocol::fail(protocol::Failure::with_code(
            protocol::Kind::too_large, "too-large",
            "command, arguments and environment together are too large"));
    }
    return run->commands()->submit(std::move(record), key);
}

Result<PageOf<model::CommandRecord>> ServiceImpl::commands(const Principal& principal,
                                                           const RunId& run, Page page) {
    TRY(const auto record, find_run(principal, run));
    TRY(const auto below, parse_cursor(page.after));
    const std::size_t limit = page_limit(page);
    PageOf<model::CommandRecord> answer;
    TRY(answer.items, database_.commands(run, below, limit));
    if (answer.items.size() == limit) answer.next = std::to_string(answer.items.back().sequence);
    return answer;
}

Async<model::CommandRecord> ServiceImpl::command(Principal principal, RunId run_id,
                                                 protocol::CommandId id) {
    const auto self = shared_from_this();
    CO_TRY(const auto owner, find_run(principal, run_id));
    if (const auto run = core_->find(run_id)) {
        if (const auto live = run->commands()->find(id)) {
            if (!run->paused()) co_await run->commands()->refresh(live);
            co_return live->record;
        }
    }
    CO_TRY(auto found, database_.find_command(run_id, id));
    if (!found || found->startup) co_return protocol::fail(command_not_found(id));
    co_return std::move(*found);
}

Async<model::CommandRecord> ServiceImpl::wait_command(Principal principal, RunId run_id,
                                                      protocol::CommandId id,
                                                      std::chrono::milliseconds limit) {
    const auto self = shared_from_this();
    CO_TRY(const auto owner, find_run(principal, run_id));
    const auto run = core_->find(run_id);
    const auto live = run ? run->commands()->find(id) : nullptr;
    if (!live) {
        CO_TRY(auto found, database_.find_command(run_id, id));
        if (!found || found->startup) co_return protocol::fail(command_not_found(id));
        co_return std::move(*found);
    }
    const std::int64_t latest = core_->clock.boottime_ms() +
                                std::min<std::chrono::milliseconds>(limit, longest_wait).count();
    while (!live->over() && core_->clock.boottime_ms() < latest && !core_->closing) {
        co_await live->changed.wait_until(core_->clock, latest);
    }
    co_return live->record;
}

Async<model::CommandRecord> ServiceImpl::kill_command(Principal principal, RunId run_id,
                                                      protocol::CommandId id, int signal) {
    const auto self = shared_from_this();
    CO_TRY(const auto owner, find_run(principal, run_id));
    if (signal < 1 || signal > 64) {
        co_return protocol::fail(invalid("signal must be a number from 1 to 64"));
    }
    const auto run = core_->find(run_id);
    const auto live = run ? run->commands()->find(id) : nullptr;
    if (!live) {
        CO_TRY(auto found, database_.find_command(run_id, id));
        if (!found || found->startup) co_return protocol::fail(command_not_found(id));
        co_return std::move(*found);
    }
    auto killed = co_await run->commands()->kill(live, signal);
    if (!killed) co_return protocol::fail(std::move(killed).error());
    if (signal == 9) {
        const std::int64_t latest =
            core_->clock.boottime_ms() + std::chrono::milliseconds(kill_wait).count();
        while (!live->over() && core_->clock.boottime_ms() < latest && !core_->closing) {
            co_await live->changed.wait_until(core_->clock, latest);
        }
    }
    co_return live->record;
}

Async<ServiceImpl::Running> ServiceImpl::running_command(Principal principal, RunId run_id,
                                                         protocol::CommandId id) {
    const auto self = shared_from_this();
    CO_TRY(const auto owner, find_run(principal, run_id));
    const auto ended = [] {
        return protocol::Failure::with_code(protocol::Kind::conflict, "command-ended",
                                            "the command has ended");
    };
    Running running;
    running.run = core_->find(run_id);
    if (running.run) running.command = running.run->commands()->find(id);
    if (!running.command) {
        CO_TRY(const auto found, database_.find_command(run_id, id));
        if (!found || found->startup) co_return protocol::fail(command_not_found(id));
        co_return protocol::fail(ended());
    }
    while (!running.command->begun && !running.command->over() && !core_->closing) {
        co_await running.command->changed.wait();
    }
    running.guest = running.run->guest();
    // Ended ones can be followed as long as the agent holds them.
    const bool held = running.run->commands()->find(id) != nullptr;
    if (!running.guest || !held || running.run->ending()) co_return protocol::fail(ended());
    co_return running;
}

Async<void> ServiceImpl::resize_command(Principal principal, RunId run, protocol::CommandId id,
                                        protocol::TerminalSize size) {
    auto running = co_await running_command(std::move(principal), run, id);
    if (!running) co_return protocol::fail(std::move(running).error());
    protocol::CommandResize request;
    request.id = id.str();
    request.size = size;
    co_return co_await running->guest->resize(std::move(request));
}

Async<std::shared_ptr<Follower>> ServiceImpl::follow(Principal principal, RunId run,
                                                     protocol::CommandId id,
                                                     std::uint64_t output_from,
                                                     std::uint64_t error_from, bool lossless) {
    auto running = co_await running_command(std::move(principal), run, id);
    if (!running) co_return protocol::fail(std::move(running).error());
    protocol::CommandFollow request;
    request.id = id.str();
    request.output_from = output_from;
    request.error_from = error_from;
    request.lossless = lossless;
    auto follower = running->guest->follow(std::move(request));
    co_return std::make_shared<CountedFollower>(std::move(follower), running->run->commands(),
                                                running->command);
}

Async<std::shared_ptr<InputSink>> ServiceImpl::input(Principal principal, RunId run,
                                                     protocol::CommandId id, std::uint64_t from) {
    auto running = co_await running_command(std::move(principal), run, id);
    if (!running) co_return protocol::fail(std::move(running).error());
    if (!running->command->record.input) {
        co_return protocol::fail(
            protocol::Failure::with_code(protocol::Kind::conflict, "command-ended",
                                         "the command was sent without standard input"));
    }
    protocol::CommandInput request;
    request.id = id.str();
    request.from = from;
    co_return running->guest->input(std::move(request));
}

}  // namespace host::sandbox
