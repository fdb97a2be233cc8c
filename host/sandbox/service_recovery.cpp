// The service's own life: opening over what an earlier daemon has left, libvirt coming back,
// closing.

#include "host/sandbox/service_impl.hpp"
#include "host/sandbox/spawn.hpp"

#include <algorithm>

#include <spdlog/spdlog.h>

namespace host::sandbox {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto ask_again = 2s;
// libvirtd may still have been creating a machine for a daemon that was killed.
constexpr auto second_look = 30s;

}  // namespace

ServiceImpl::ServiceImpl(Parts parts)
    : core_(std::make_shared<Core>(std::move(parts))), database_(core_->database) {}

// Supervisors and what they share hold each other.
ServiceImpl::~ServiceImpl() {
    core_->live.clear();
}

Result<void> ServiceImpl::open() {
    TRY(const auto standard, database_.find_namespace("default"));
    if (!standard) {
        model::NamespaceRecord record;
        record.name = "default";
        record.created_at = core_->clock.unix_ms();
        TRY_VOID(database_.insert_namespace(record));
    }
    TRY(auto rows, database_.live_runs());
    for (auto& row : rows) {
        const auto run = std::make_shared<RunSupervisor>(core_, std::move(row));
        core_->live.emplace(run->record().id, run);
        TRY_VOID(run->recover());
    }
    spawn(core_->parts.executor, "recovery", recover(shared_from_this()));
    return {};
}

void ServiceImpl::set_platform(Result<Platform> platform) {
    core_->platform = std::move(platform);
    core_->platform_known.wake_all();
}

void ServiceImpl::on_machine_event(const MachineEvent& event) {
    if (const auto run = core_->find(event.run)) run->on_machine_event(event);
}

void ServiceImpl::on_machine_paused(const RunId& id, bool paused) {
    const auto run = core_->find(id);
    if (!run || core_->closing) return;
    if (!paused) return run->on_machine_resumed();
    // QEMU may have stopped by itself, for good: libvirt's list knows why.
    spawn(core_->parts.executor, "reconcile", reconcile(shared_from_this()));
}

void ServiceImpl::on_reconnect() {
    core_->reconnected.wake_all();
    if (!core_->closing) {
        spawn(core_->parts.executor, "reconcile", reconcile(shared_from_this()));
    }
}

// Three lists are compared: rows, machines, folders. Without libvirt's answer nothing is concluded.
asio::awaitable<void> ServiceImpl::recover(std::shared_ptr<ServiceImpl>) {
    const TaskCount counted(*core_);
    // Read before the first request can make new ones: a folder is loose while it is being made.
    auto loose = database_.loose_folders();
    std::optional<std::vector<Machine>> machines;
    while (!machines && !core_->closing) {
        auto list = [hypervisor = core_->parts.hypervisor] { return hypervisor->list(); };
        auto listed = co_await on_workers(*core_->parts.workers, std::move(list));
        if (listed) {
            machines = std::move(*listed);
            break;
        }
        spdlog::warn("libvirt cannot be asked error={}", listed.error().describe());
        co_await core_->reconnected.wait_until(
            core_->clock,
            core_->clock.boottime_ms() + std::chrono::milliseconds(ask_again).count());
    }
    if (core_->closing) co_return;
    // Runs started meanwhile do not wait for an answer.
    std::vector<std::shared_ptr<RunSupervisor>> runs;
    for (const auto& [id, run] : core_->live) runs.push_back(run);
    for (const auto& run : runs) {
        const auto found = std::ranges::find_if(
            *machines, [&run](const Machine& machine) { return machine.run == run->record().id; });
        run->resolve(found == machines->end() ? std::nullopt : std::optional<Machine>(*found));
    }
    co_await remove_strays(std::move(*machines));
    if (loose) co_await remove_loose_folders(std::move(*loose));
    if (core_->closing) co_return;
    second_look_ = core_->clock.alarm_in(second_look, [weak = weak_from_this()] {
        const auto service = weak.lock();
        if (service && !service->core_->closing) {
            spawn(service->core_->parts.executor, "reconcile", service->reconcile(service));
        }
    });
}

// Later comparisons: what should be running and is not, and what runs and should not.
asio::awaitable<void> ServiceImpl::reconcile(std::shared_ptr<ServiceImpl>) {
    const TaskCount counted(*core_);
    // Those whose machine was there before libvirt is asked.
    struct Expected {
        std::shared_ptr<RunSupervisor> run;
        int resumes;
    };
    std::vector<Expected> expected;
    for (const auto& [id, run] : core_->live) {
        if (run->has_machine()) expected.push_back({run, run->resumes()});
    }
    auto list = [hypervisor = core_->parts.hypervisor] { return hypervisor->list(); };
    auto machines = co_await on_workers(*core_->parts.workers, std::move(list));
    if (!machines || core_->closing) co_return;
    for (const auto& [run, resumes] : expected) {
        if (!run->has_machine()) continue;
        const auto found = std::ranges::find_if(*machines, [&run = run](const Machine& machine) {
            return machine.run == run->record().id && machine.active;
        });
        if (found == machines->end()) {
            run->on_machine_missing();
        } else if (found->paused && resumes == run->resumes()) {
            run->on_machine_paused();
        } else if (!found->paused && run->paused()) {
            run->on_machine_resumed();
        }
    }
    co_await remove_strays(std::move(*machines));
}

asio::awaitable<void> ServiceImpl::remove_strays(std::vector<Machine> machines) {
    for (const Machine& machine : machines) {
        if (core_->find(machine.run) || core_->closing) continue;
        spdlog::warn("a machine without a live run is removed run={}", machine.run.str());
        auto destroy = [hypervisor = core_->parts.hypervisor, id = machine.run] {
            return hypervisor->destroy(id);
        };
        auto destroyed = co_await on_workers(*core_->parts.workers, std::move(destroy));
        if (!destroyed) {
            spdlog::error("cannot end a machine run={} error={}", machine.run.str(),
                          destroyed.error().describe());
            continue;
        }
        co_await remove_run_folder(machine.run);
    }
    auto list = [disks = core_->parts.disks] { return disks->list(); };
    auto folders = co_await on_workers(*core_->parts.workers, std::move(list));
    if (!folders) {
        spdlog::error("cannot list run folders error={}", folders.error().describe());
        co_return;
    }
    for (const RunId& id : *folders) {
        if (core_->find(id) || core_->closing) continue;
        spdlog::warn("a folder without a live run is removed run={}", id.str());
        co_await remove_run_folder(id);
    }
}

asio::awaitable<void> ServiceImpl::remove_run_folder(RunId id) {
    auto remove = [disks = core_->parts.disks, id] { return disks->remove(id); };
    auto removed = co_await on_workers(*core_->parts.workers, std::move(remove));
    if (!removed) {
        spdlog::error("cannot remove a run's folder run={} error={}", id.str(),
                      removed.error().describe());
    }
}

asio::awaitable<void> ServiceImpl::remove_loose_folders(std::vector<std::string> folders) {
    for (const std::string& folder : folders) {
        if (core_->closing) co_return;
        auto remove = [remove = core_->parts.vfs.remove, folder] { return remove(folder); };
        auto removed = co_await on_workers(*core_->parts.workers, std::move(remove));
        if (removed) removed = database_.remove_loose_folder(folder);
        if (!removed) {
            spdlog::error("cannot remove a folder without a VFS folder={} error={}", folder,
                          removed.error().describe());
        }
    }
}

asio::awaitable<void> ServiceImpl::close() {
    const auto self = shared_from_this();
    core_->closing = true;
    second_look_.reset();
    core_->platform_known.wake_all();
    core_->reconnected.wake_all();
    core_->events.appended().wake_all();
    for (const auto& [id, run] : core_->live) run->detach();
    while (core_->tasks > 0) co_await core_->became_idle.wait();
    core_->live.clear();
}

}  // namespace host::sandbox
