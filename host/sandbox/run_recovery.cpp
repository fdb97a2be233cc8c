// A run of an earlier daemon: taken back, finished off, or found gone.

#include "host/sandbox/run_supervisor.hpp"
#include "host/sandbox/spawn.hpp"
#include "protocol/base/name.hpp"

#include <spdlog/spdlog.h>

namespace host::sandbox {

namespace asio = boost::asio;
using model::RunPhase;
using model::RunStatus;

namespace {
// A healthy agent answers at once; one that does not within this is not waited for.
constexpr std::int64_t adoption_ms =
    std::chrono::milliseconds(model::defaults::link_lost_limit).count();
// The end of a run is not held up for longer than this by an agent that may be gone.
constexpr std::int64_t last_words_ms = 5'000;
}  // namespace

Result<void> RunSupervisor::recover() {
    TRY_VOID(commands_->load());
    if (record_.pending_status) commands_->stop();
    recovering_ = true;
    arm_deadline();
    spawn(core_->parts.executor, "recovery", recover_run(shared_from_this()));
    return {};
}

void RunSupervisor::resolve(std::optional<Machine> machine) {
    resolved_ = std::move(machine);
    changed_.wake_all();
}

asio::awaitable<void> RunSupervisor::recover_run(Self self) {
    const TaskCount counted(*core_);
    if (record_.host_boot_id == core_->clock.host_boot_id()) {
        while (!resolved_ && !core_->closing) co_await changed_.wait();
        if (core_->closing) co_return;
        const bool active = *resolved_ && (*resolved_)->active;
        const bool nothing_yet = record_.status == RunStatus::starting &&
                                 record_.agent_boot_id.empty() && !record_.pending_status;
        if (active) {
            co_await adopt(**resolved_);
        } else if (nothing_yet && left_ms() > 0) {
            // It died before anything could happen inside: starting over loses nothing.
            spdlog::info("run starts over run={}", record_.id.str());
            co_await remove_machine();
            co_await remove_disks();
            bringing_up_ = !record_.pending_status && !core_->closing;
            if (bringing_up_) {
                spawn(core_->parts.executor, "run", bring_up(self, MachineState::none));
            }
        } else {
            fail("the machine was gone when the daemon came back");
        }
    } else {
        fail("the host was restarted while the capsule was running");
    }
    recovering_ = false;
    if (core_->closing) co_return;
    if (left_ms() == 0) on_deadline();
    if (!record_.pending_status || ended_) co_return;
    ended_ = true;
    spawn(core_->parts.executor, "run end", end(self));
}

asio::awaitable<void> RunSupervisor::adopt(Machine machine) {
    take_machine(machine);
    record_.cid = machine.cid.value_or(record_.cid);
    // Nobody inside can answer before an administrator lets it go on.
    while (paused_ && !ending() && left_ms() > 0 && !core_->closing) {
        co_await changed_.wait_until(core_->clock, record_.deadline_boottime_ms);
    }
    if (paused_ || core_->closing) co_return;
    const bool ends_now = record_.pending_status.has_value() || left_ms() == 0;
    const bool never_heard = record_.agent_boot_id.empty();
    if (never_heard && ends_now) co_return;
    if (never_heard) {
        // Its own boot may still be going on; that is the ordinary way from here.
        bringing_up_ = true;
        spawn(core_->parts.executor, "run", bring_up(shared_from_this(), MachineState::running));
        co_return;
    }
    auto heard = co_await connect(steady_deadline(
        ends_now ? last_words_ms : std::min(adoption_ms, left_ms() + last_words_ms)));
    if (core_->closing) co_return;
    if (!heard) {
        guest_usable_ = false;
        fail("the agent did not answer when the daemon came back: " +
             protocol::escape_foreign(heard.error().message()));
        co_return;
    }
    spdlog::info("run is taken back run={} status={} commands={}", record_.id.str(),
                 to_string(record_.status), commands_->open_commands());
    // Ending ones are collected, aborted and settled by end().
    if (ending() || left_ms() == 0) co_return;
    // The machine may have stood still while nobody was here to see it.
    spawn(core_->parts.executor, "clock", correct_clock(shared_from_this()));
    if (record_.status == RunStatus::starting) {
        bringing_up_ = true;
        spawn(core_->parts.executor, "run", bring_up(shared_from_this(), MachineState::running));
        co_return;
    }
    if (auto resumed = resume_startup(); !resumed) {
        fail("the start-up commands could not be read: " + resumed.error().describe());
        co_return;
    }
    finish_if_done();
    if (!ending()) commands_->open(guest_);
}

}  // namespace host::sandbox
