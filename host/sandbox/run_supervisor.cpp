#include "host/sandbox/run_supervisor.hpp"

#include "host/sandbox/spawn.hpp"
#include "protocol/base/duration.hpp"
#include "protocol/base/name.hpp"

#include <algorithm>

#include <spdlog/spdlog.h>

namespace host::sandbox {

using model::RunEvent;
using model::RunPhase;
using model::RunStatus;

namespace {

constexpr std::chrono::milliseconds last_words{100};

std::string machine_end_text(const MachineEvent& event) {
    const std::string detail =
        event.detail.empty() ? "" : ": " + protocol::escape_foreign(event.detail);
    if (event.panicked) return "the guest's kernel crashed" + detail;
    switch (event.end) {
        case MachineEnd::shut_down:
            return "the machine was shut down from inside" + detail;
        case MachineEnd::crashed:
            return "the machine crashed" + detail;
        case MachineEnd::destroyed:
            return "the machine was rebooted or ended by others" + detail;
        case MachineEnd::failed:
            return "the machine failed" + detail;
    }
    return "the machine ended" + detail;
}

}  // namespace

RunSupervisor::RunSupervisor(std::shared_ptr<Core> core, model::RunRecord record)
    : core_(std::move(core)),
      record_(std::move(record)),
      changed_(core_->parts.executor),
      commands_(std::make_shared<CommandQueue>(core_, record_)) {}

void RunSupervisor::begin(BootImage image) {
    image_ = std::move(image);
    arm_deadline();
    bringing_up_ = true;
    spawn(core_->parts.executor, "run", bring_up(shared_from_this(), MachineState::none));
}

// Stores the record as it is, with an event that says so.
Result<void> RunSupervisor::store(std::string_view event) {
    TRY(auto transaction, core_->database.begin(journal::Durability::process));
    TRY_VOID(core_->database.update_run(record_));
    TRY_VOID(core_->events.append(record_.capsule.space, event, describe(record_)));
    TRY_VOID(transaction.commit());
    changed_.wake_all();
    return {};
}

Result<void> RunSupervisor::enter_phase(RunPhase phase) {
    TRY_VOID(still_wanted());
    if (record_.phase == phase) return {};
    record_.phase = phase;
    spdlog::info("run phase run={} phase={}", record_.id.str(), to_string(phase));
    return store("run.phase");
}

Result<void> RunSupervisor::still_wanted() const {
    if (!ending() && !core_->closing) return {};
    return protocol::fail(protocol::Kind::unavailable, "the run is ending");
}

void RunSupervisor::request_end(RunEvent event, std::string details) {
    if (ending() || core_->closing) return;
    const auto status = next(record_.status, event);
    if (!status) return;
    record_.pending_status = *status;
    record_.failure_details = std::move(details);
    record_.phase = RunPhase::ending;
    spdlog::info("run is ending run={} status={}", record_.id.str(), to_string(*status));
    // publish() stores it again and waits until the database takes it; what a crash in between
    // would lose is only why the run ended, since its machine is gone or its deadline over then
    // too.
    if (auto stored = store("run.phase"); !stored) {
        spdlog::error("cannot store the end of a run run={} error={}", record_.id.str(),
                      stored.error().describe());
    }
    commands_->stop();
    core_->platform_known.wake_all();
    // Recovery ends it itself, once it knows about the machine.
    if (recovering_ || ended_) return;
    ended_ = true;
    spawn(core_->parts.executor, "run end", end(shared_from_this()));
}

void RunSupervisor::fail(std::string details) {
    if (waiting_cause_.empty()) fail_surely(std::move(details));
}

void RunSupervisor::fail_surely(std::string details) {
    if (ending() || core_->closing) return;
    spdlog::warn("run failed run={} reason={}", record_.id.str(),
                 protocol::escape_foreign(details, 1'000));
    request_end(RunEvent::failed, std::move(details));
}

void RunSupervisor::stop(const std::string& who) {
    request_end(RunEvent::stop_requested, "stopped by " + who);
}

void RunSupervisor::arm_deadline() {
    deadline_ = core_->clock.alarm_at(record_.deadline_boottime_ms, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->on_deadline();
    });
}

void RunSupervisor::on_deadline() {
    if (recovering_) return;  // recovery collects first
    const std::string limit =
        protocol::format_duration(protocol::Milliseconds(record_.definition.max_duration_ms));
    if (record_.status == RunStatus::starting) {
        request_end(RunEvent::deadline, "did not finish starting within " + limit + " (phase " +
                                            std::string(to_string(record_.phase)) + ")");
    } else {
        request_end(RunEvent::deadline, "reached its maxDuration of " + limit);
    }
}

std::int64_t RunSupervisor::left_ms() const {
    return std::max<std::int64_t>(record_.deadline_boottime_ms - core_->clock.boottime_ms(), 0);
}

Deadline RunSupervisor::steady_deadline(std::int64_t limit_ms) const {
    return std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
}

void RunSupervisor::fail_after(std::chrono::milliseconds delay, std::string details) {
    waiting_cause_ = std::move(details);
    grace_ = core_->clock.alarm_in(delay, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->fail_surely(self->waiting_cause_);
    });
}

void RunSupervisor::on_machine_event(const MachineEvent& event) {
    has_machine_ = false;
    if (ending()) {
        guest_usable_ = false;
        // Nobody will answer what is asked of the agent now.
        if (guest_) guest_->close();
        return;
    }
    look_at_console_ = true;
    // What the agent said last may still be on its way to us: results are never lost.
    fail_after(last_words, machine_end_text(event));
}

void RunSupervisor::on_machine_missing() {
    has_machine_ = false;
    guest_usable_ = false;
    look_at_console_ = true;
    fail("the machine is gone");
}

void RunSupervisor::on_machine_paused() {
    paused_ = true;
    if (guest_) guest_->expect_silence(true);
}

void RunSupervisor::on_machine_resumed() {
    paused_ = false;
    ++resumes_;
    changed_.wake_all();
    if (guest_) guest_->expect_silence(false);
    if (guest() && !ending()) {
        spawn(core_->parts.executor, "clock", correct_clock(shared_from_this()));
    }
}

void RunSupervisor::detach() {
    deadline_.reset();
    grace_.reset();
    virtiofsd_.clear();
    if (guest_) guest_->close();
    commands_->wake_waiters();
    changed_.wake_all();
}

}  // namespace host::sandbox
