// The end of a run, whatever the cause: collect, abort, settle, destroy, remove, and only then say
// so.

#include "host/sandbox/run_supervisor.hpp"
#include "host/sandbox/spawn.hpp"
#include "protocol/base/name.hpp"

#include <fstream>

#include <spdlog/spdlog.h>

namespace host::sandbox {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using model::RunPhase;
using model::RunStatus;

namespace {

constexpr auto collect_limit = 1s;
constexpr auto retry = 2s;
constexpr auto bring_up_patience = 1s;
constexpr int disk_attempts = 5;
constexpr std::streamoff console_tail_bytes = 16 << 10;

std::string panic_line(const std::string& console_log) {
    std::ifstream file(console_log, std::ios::binary | std::ios::ate);
    if (!file) return {};
    const std::streamoff size = file.tellg();
    file.seekg(size > console_tail_bytes ? size - console_tail_bytes : 0);
    std::string text(static_cast<std::size_t>(console_tail_bytes), '\0');
    file.read(text.data(), console_tail_bytes);
    text.resize(static_cast<std::size_t>(file.gcount()));
    const std::size_t start = text.find("Kernel panic");
    if (start == std::string::npos) return {};
    return protocol::escape_foreign(text.substr(start, text.find_first_of("\r\n", start) - start));
}

std::string abort_reason(const model::RunRecord& run) {
    const std::string& details = run.failure_details;
    switch (run.pending_status.value_or(run.status)) {
        case RunStatus::finished:
            return "the capsule finished" + (details.empty() ? "" : ": it " + details);
        case RunStatus::terminated:
            return "the capsule was " + details;
        case RunStatus::error:
        case RunStatus::starting:
        case RunStatus::running:
            return "the capsule ended: " + details;
    }
    return "the capsule ended";
}

}  // namespace

asio::awaitable<void> RunSupervisor::pause_or_change(std::chrono::milliseconds limit) {
    co_await changed_.wait_until(core_->clock, core_->clock.boottime_ms() + limit.count());
}

asio::awaitable<void> RunSupervisor::pause(std::chrono::milliseconds duration) {
    Condition nothing(core_->parts.executor);
    co_await nothing.wait_until(core_->clock, core_->clock.boottime_ms() + duration.count());
}

asio::awaitable<void> RunSupervisor::end(Self self) {
    const TaskCount counted(*core_);
    commands_->stop();
    deadline_.reset();
    co_await explain_by_console();
    if (can_ask()) {
        auto collected = std::make_shared<bool>(false);
        const auto limit =
            core_->clock.boottime_ms() + std::chrono::milliseconds(collect_limit).count();
        spawn(core_->parts.executor, "collect", collect(self, collected));
        while (!*collected && core_->clock.boottime_ms() < limit) {
            co_await changed_.wait_until(core_->clock, limit);
        }
    }
    co_await abort_commands();
    co_await settle();
    if (guest_) guest_->close();
    // A step that is still on a worker (creating the machine) must be over before it is undone. One
    // that hangs in libvirt ends with the QEMU it waits for.
    while (bringing_up_) {
        co_await pause_or_change(bring_up_patience);
        if (bringing_up_ && !core_->closing) co_await try_destroy();
    }
    if (core_->closing) co_return;  // the next daemon goes on from pending_status
    co_await remove_machine();
    if (core_->closing) co_return;
    co_await remove_disks();
    co_await publish();
}

// There is somebody inside who answers.
bool RunSupervisor::can_ask() const {
    return connected_ && guest_usable_ && has_machine_ && !paused_;
}

asio::awaitable<void> RunSupervisor::collect(Self, std::shared_ptr<bool> done) {
    const TaskCount counted(*core_);
    co_await commands_->collect(guest_, abort_reason(record_));
    *done = true;
    changed_.wake_all();
}

asio::awaitable<void> RunSupervisor::abort_commands() {
    for (;;) {
        auto aborted = commands_->abort_all(abort_reason(record_));
        if (aborted || core_->closing) co_return;
        spdlog::error("cannot store aborted commands run={} error={}", record_.id.str(),
                      aborted.error().describe());
        co_await pause(retry);
    }
}

asio::awaitable<void> RunSupervisor::settle() {
    // What hangs on a dead virtiofsd cannot be stopped or unmounted, and would use up the time of
    // the end. The other VFS have what was written; only what a program has put into a shared
    // mapping (mmap) and not synchronized is lost.
    if (!can_ask() || virtiofsd_died_) co_return;
    auto settled = co_await guest_->settle(model::defaults::settle_limit);
    if (!settled && !core_->closing) {
        spdlog::warn("the machine did not settle run={} error={}", record_.id.str(),
                     protocol::escape_foreign(settled.error().describe()));
    }
}

asio::awaitable<void> RunSupervisor::explain_by_console() {
    if (!look_at_console_) co_return;
    auto read = [path = core_->parts.disks->layout(record_.id).console_log.value] {
        return panic_line(path);
    };
    const std::string line = co_await on_workers(*core_->parts.workers, std::move(read));
    if (line.empty()) co_return;
    record_.failure_details = "the guest's kernel crashed: " + line;
}

Async<void> RunSupervisor::try_destroy() {
    auto destroy = [hypervisor = core_->parts.hypervisor, id = record_.id] {
        return hypervisor->destroy(id);
    };
    co_return co_await on_workers(*core_->parts.workers, std::move(destroy));
}

// Without an answer from libvirt nothing can be concluded; the run is then ending for as long as
// that takes.
asio::awaitable<void> RunSupervisor::remove_machine() {
    virtiofsd_.clear();
    while (!core_->closing) {
        auto destroyed = co_await try_destroy();
        if (destroyed) break;
        spdlog::error("cannot end a machine run={} error={}", record_.id.str(),
                      destroyed.error().describe());
        co_await core_->reconnected.wait_until(
            core_->clock, core_->clock.boottime_ms() + std::chrono::milliseconds(retry).count());
    }
    has_machine_ = false;
}

// What cannot be removed now is removed by the next start's recovery; the run has ended all the
// same.
asio::awaitable<void> RunSupervisor::remove_disks() {
    for (int attempt = 1; attempt <= disk_attempts; ++attempt) {
        auto remove = [disks = core_->parts.disks, id = record_.id] { return disks->remove(id); };
        auto removed = co_await on_workers(*core_->parts.workers, std::move(remove));
        if (removed || core_->closing) co_return;
        spdlog::error("cannot remove a run's folder run={} error={}", record_.id.str(),
                      removed.error().describe());
        if (attempt < disk_attempts) co_await pause(200ms);
    }
}

asio::awaitable<void> RunSupervisor::publish() {
    const model::RunRecord before = record_;
    record_.status = record_.pending_status.value_or(RunStatus::error);
    record_.pending_status.reset();
    record_.phase = RunPhase::none;
    record_.ended_at = core_->clock.unix_ms();
    for (;;) {
        auto stored = store("run.ended");
        if (stored) break;
        spdlog::error("cannot store the end of a run run={} error={}", record_.id.str(),
                      stored.error().describe());
        co_await pause(retry);
        if (core_->closing) co_return;
    }
    spdlog::info("run has ended run={} status={}", record_.id.str(), to_string(record_.status));
    core_->live.erase(record_.id);
    changed_.wake_all();
    tidy_records();
}

void RunSupervisor::tidy_records() {
    auto& database = core_->database;
    const Settings& settings = core_->parts.settings;
    const auto before = core_->clock.unix_ms() - settings.ended_runs_retention_ms;
    if (auto old = database.runs_to_forget(before, settings.ended_runs_kept)) {
        for (const RunId& id : *old) {
            if (id != record_.id) static_cast<void>(database.forget_run(id));
        }
    }
    for (;;) {
        const auto stored = database.stored_output_bytes();
        if (!stored || *stored <= settings.stored_output_bytes) return;
        const auto dropped = database.drop_oldest_output();
        if (!dropped || !*dropped) return;
    }
}

}  // namespace host::sandbox
