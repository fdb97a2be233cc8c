// Starting, last part: the recipe's own commands, and what follows from their ends.

#include "host/sandbox/command_result.hpp"
#include "host/sandbox/run_supervisor.hpp"
#include "host/sandbox/spawn.hpp"

#include <spdlog/spdlog.h>

namespace host::sandbox {

namespace asio = boost::asio;
using model::CommandStatus;
using model::RunEvent;
using model::RunPhase;
using model::RunStatus;

namespace {

protocol::Failure startup_failed(std::string details) {
    return protocol::Failure::with_code(protocol::Kind::invalid_argument, startup_failed_code,
                                        std::move(details));
}

}  // namespace

Async<void> RunSupervisor::run_startup() {
    CO_TRY(startup_, core_->database.startup_commands(record_.id));
    if (startup_.empty()) co_return still_wanted();
    CO_TRY_VOID(enter_phase(RunPhase::startup));
    co_await forget_programs();
    for (std::size_t i = 0; i < startup_.size(); ++i) {
        CO_TRY_VOID(still_wanted());
        if (is_terminal(startup_[i].status)) continue;
        if (!record_.definition.startup.at(i).wait) {
            ++startup_open_;
            spawn(core_->parts.executor, "startup command",
                  run_in_background(shared_from_this(), i));
            continue;
        }
        auto ended = co_await run_startup_command(i);
        if (!ended) co_return ended;
    }
    co_return still_wanted();
}

Result<void> RunSupervisor::resume_startup() {
    TRY(startup_, core_->database.startup_commands(record_.id));
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < startup_.size(); ++i) {
        if (!is_terminal(startup_[i].status)) open.push_back(i);
    }
    // All counted before the first one may be found to have ended.
    startup_open_ = open.size();
    for (const std::size_t i : open) {
        spawn(core_->parts.executor, "startup command", run_in_background(shared_from_this(), i));
    }
    return {};
}

Result<void> RunSupervisor::store_startup(const model::CommandRecord& command) {
    TRY(auto transaction, core_->database.begin(journal::Durability::process));
    TRY_VOID(core_->database.update_command(command));
    TRY_VOID(core_->database.set_held(command.id, !is_terminal(command.status)));
    return transaction.commit();
}

// Fails with the text for failureDetails when the command did not end with 0.
Async<void> RunSupervisor::run_startup_command(std::size_t index) {
    model::CommandRecord& command = startup_.at(index);
    const model::StartupCommand& startup = record_.definition.startup.at(index);
    if (command.status == CommandStatus::queued) {
        command.status = CommandStatus::running;
        command.started_at = core_->clock.unix_ms();
        CO_TRY_VOID(store_startup(command));
    }
    auto request = start_request(command, startup, record_.definition);
    std::function<void()> started = [] {};
    auto report = co_await guest_->run(std::move(request), std::move(started));
    CO_TRY_VOID(still_wanted());
    if (!report) {
        if (report.error().kind() == protocol::Kind::unavailable) {
            co_return protocol::fail(std::move(report).error());
        }
        // The agent will never run it (an argument that no program can be given).
        protocol::CommandReport refused;
        refused.kind = "failedToStart";
        refused.code = 126;
        refused.message = report.error().message();
        co_return protocol::fail(startup_failed(startup_failure(startup, refused)));
    }
    const bool good = succeeded(*report);
    std::string failure = good ? "" : startup_failure(startup, *report);
    // Its output is not kept; what a failure needs of it is in the sentence.
    report->output = protocol::OutputReport();
    report->error = protocol::OutputReport();
    report->output_open = false;
    apply_end(command, *report, core_->clock.unix_ms());
    if (!good) command.reason = failure;
    CO_TRY_VOID(store_startup(command));
    auto forgotten = co_await guest_->forget(command.id.str());
    if (!forgotten) {
        spdlog::debug("startup command not forgotten run={} error={}", record_.id.str(),
                      forgotten.error().describe());
    }
    if (good) co_return Result<void>();
    co_return protocol::fail(startup_failed(std::move(failure)));
}

asio::awaitable<void> RunSupervisor::run_in_background(Self, std::size_t index) {
    const TaskCount counted(*core_);
    auto ended = co_await run_startup_command(index);
    --startup_open_;
    if (ending() || core_->closing) co_return;
    if (!ended) {
        const std::string failure = ended.error().message();
        if (record_.status == RunStatus::starting || record_.definition.auto_terminate) {
            request_end(RunEvent::failed, failure);
            co_return;
        }
        spdlog::info("startup command failed after the start run={}", record_.id.str());
        auto data = describe(record_);
        data["failureDetails"] = failure;
        auto told =
            core_->events.append(record_.capsule.space, "run.startup-failed", std::move(data));
        if (!told) {
            spdlog::error("cannot store an event run={} error={}", record_.id.str(),
                          told.error().describe());
        }
    }
    finish_if_done();
}

void RunSupervisor::become_ready() {
    const auto status = next(record_.status, RunEvent::became_ready);
    if (!status || ending() || core_->closing) return;
    record_.status = *status;
    record_.phase = RunPhase::none;
    record_.ready_at = core_->clock.unix_ms();
    if (auto stored = store("run.ready"); !stored) {
        return fail("the start could not be recorded: " + stored.error().describe());
    }
    spdlog::info("run is ready run={}", record_.id.str());
    // Programs of the last step, where nothing came after it.
    if (!programs_.empty()) {
        spawn(core_->parts.executor, "forget", [](Self self) -> asio::awaitable<void> {
            const TaskCount counted(*self->core_);
            co_await self->forget_programs();
        }(shared_from_this()));
    }
    finish_if_done();
    if (!ending()) commands_->open(guest_);
}

// autoTerminate: over as soon as all start-up commands are, also those nobody waited for.
void RunSupervisor::finish_if_done() {
    if (!record_.definition.auto_terminate || record_.status != RunStatus::running) return;
    if (startup_open_ == 0) request_end(RunEvent::startup_finished, "");
}

}  // namespace host::sandbox
