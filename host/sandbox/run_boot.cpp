// Starting, first half: from the row in the database to an agent that answers.

#include "host/sandbox/command_result.hpp"
#include "host/sandbox/run_supervisor.hpp"
#include "host/sandbox/spawn.hpp"
#include "protocol/base/name.hpp"

#include <algorithm>

#include <spdlog/spdlog.h>

namespace host::sandbox {

namespace asio = boost::asio;
using model::RunPhase;
using model::RunStatus;

namespace {

// When QEMU dies its virtiofsd die with it; what libvirt says of the machine is the better reason.
constexpr std::chrono::milliseconds virtiofsd_grace{1'000};

std::string kernel_command_line(const Platform& platform) {
    // panic: a kernel that has panicked must end the machine, not sit there. no_timer_check: on a
    // busy host an emulated processor is late for the timer's interrupt, and the kernel takes that
    // for broken hardware. cryptomgr.notests: the kernel would try each of its ciphers, a quarter
    // of an emulated boot.
    std::string words = "console=ttyS0 quiet panic=-1 no_timer_check cryptomgr.notests";
    // Each process would have its libraries elsewhere, and QEMU would translate them anew for it
    // and keep that: a command takes four times as long, and after some hundred the machine stands
    // still for half a minute when it takes back memory that has held code.
    if (platform.accelerator == Accelerator::tcg) words += " norandmaps";
    return words + " capsule.transport=" + std::string(to_string(platform.transport));
}

// Everything one machine needs on the host's disks, on a worker.
struct DiskRequest {
    explicit DiskRequest(RunId id) : run(std::move(id)) {}
    RunId run;
    BootImage image;
    std::uint64_t disk_bytes{};
    uid_t uid{};
};

struct FolderRequest {
    FolderRequest() = default;
    std::string folder, tag;
    bool read_only = false;
};

Result<std::vector<SharedFolder>> prepare(Disks& disks, const RunId& run,
                                          const std::vector<FolderRequest>& requests) {
    std::vector<SharedFolder> folders;
    for (const FolderRequest& request : requests) {
        SharedFolder folder;
        folder.tag = request.tag;
        TRY(folder.source, disks.prepare_vfs(run, request.folder, request.tag, request.read_only));
        folders.push_back(std::move(folder));
    }
    return folders;
}

}  // namespace

asio::awaitable<void> RunSupervisor::bring_up(Self, MachineState machine) {
    const TaskCount counted(*core_);
    auto done = co_await bring_up_steps(machine);
    if (!done) {
        // What a recipe's command has printed is its user's, not the log's. Nothing happens where
        // the step only failed because the run is ending.
        if (done.error().code() == startup_failed_code && !virtiofsd_died_) {
            request_end(model::RunEvent::failed, done.error().message());
        } else {
            fail(done.error().describe());
        }
    }
    bringing_up_ = false;
    changed_.wake_all();
}

Async<void> RunSupervisor::bring_up_steps(MachineState machine) {
    const RunPhase reached = record_.phase;
    const auto before = [reached](RunPhase phase) { return reached <= phase; };
    if (machine == MachineState::none) {
        auto booted = co_await boot();
        if (!booted) co_return booted;
    }
    if (!connected_) {
        auto heard = co_await connect(steady_deadline(left_ms()));
        if (!heard) co_return heard;
    }
    if (before(RunPhase::booting)) {
        auto configured = co_await configure();
        if (!configured) co_return configured;
    }
    if (before(RunPhase::mounting)) {
        auto mounted = co_await mount_all();
        if (!mounted) co_return mounted;
    }
    if (before(RunPhase::users)) {
        auto created = co_await create_users();
        if (!created) co_return created;
    }
    if (before(RunPhase::packages)) {
        auto installed = co_await install_packages();
        if (!installed) co_return installed;
    }
    auto started = co_await run_startup();
    if (!started) co_return started;
    become_ready();
    co_return Result<void>();
}

Async<void> RunSupervisor::boot() {
    while (!core_->platform && !ending() && !core_->closing) {
        co_await core_->platform_known.wait();
    }
    CO_TRY_VOID(still_wanted());
    if (!*core_->platform) co_return protocol::fail(core_->platform->error());
    const Platform platform = **core_->platform;
    record_.accelerator = to_string(platform.accelerator);
    record_.transport = to_string(platform.transport);
    CO_TRY_VOID(enter_phase(RunPhase::booting));
    CO_TRY_VOID(core_->database.update_run(record_));

    auto prepared = co_await prepare_machine(platform);
    if (!prepared) co_return protocol::fail(std::move(prepared).error());
    CO_TRY_VOID(still_wanted());
    // The domain's name follows from the run's id, and the row says that it may exist: nothing more
    // needs to be stored before it is created.
    auto start = [hypervisor = core_->parts.hypervisor, spec = std::move(*prepared)] {
        return hypervisor->start(spec);
    };
    auto machine = co_await on_workers(*core_->parts.workers, std::move(start));
    if (!machine) {
        co_return protocol::fail(std::move(machine).error().context("start the machine"));
    }
    CO_TRY_VOID(still_wanted());
    take_machine(*machine);
    record_.cid = machine->cid.value_or(0);
    co_return core_->database.update_run(record_);
}

Async<MachineSpec> RunSupervisor::prepare_machine(Platform platform) {
    Disks& disks = *core_->parts.disks;
    if (!image_) {
        auto find = [&disks, name = record_.definition.image] { return disks.image(name); };
        auto found = co_await on_workers(*core_->parts.workers, std::move(find));
        if (!found) co_return protocol::fail(std::move(found).error());
        image_ = std::move(*found);
    }
    DiskRequest request(record_.id);
    request.image = *image_;
    request.disk_bytes =
        std::max(record_.definition.resources.disk_bytes.value_or(0), image_->disk_bytes);
    request.uid = record_.uid;
    auto create = [&disks, request = std::move(request)]() -> Result<void> {
        // The first run of a daemon reads the whole image for that.
        TRY_VOID(disks.verify(request.image));
        return disks.create(request.run, request.image, request.disk_bytes, request.uid);
    };
    auto created = co_await on_workers(*core_->parts.workers, std::move(create));
    if (!created) {
        co_return protocol::fail(std::move(created).error().context("make the run's disk"));
    }
    CO_TRY_VOID(still_wanted());
    auto folders = co_await prepare_folders();
    if (!folders) co_return protocol::fail(std::move(folders).error());

    const RunFolder layout = disks.layout(record_.id);
    MachineSpec spec(record_.id);
    spec.memory_bytes =
        record_.definition.resources.memory_bytes.value_or(core_->parts.settings.memory_bytes);
    // More than one virtual processor is not safe under emulation.
    spec.cpus = platform.accelerator == Accelerator::tcg
                    ? 1
                    : record_.definition.resources.cpus.value_or(core_->parts.settings.cpus);
    spec.accelerator = platform.accelerator;
    spec.transport = platform.transport;
    spec.kernel = image_->kernel;
    spec.initrd = image_->initrd;
    spec.overlay = layout.overlay;
    spec.console_log = layout.console_log;
    spec.serial_socket = layout.serial_socket;
    spec.kernel_command_line = kernel_command_line(platform);
    spec.folders = std::move(*folders);
    spec.uid = record_.uid;
    co_return spec;
}

Async<std::vector<SharedFolder>> RunSupervisor::prepare_folders() {
    std::vector<FolderRequest> requests;
    for (const model::VfsMount& mount : record_.definition.vfs) {
        CO_TRY(const auto vfs, core_->database.find_vfs(mount.vfs));
        if (!vfs) {
            co_return protocol::fail(protocol::Kind::not_found,
                                     "VFS \"" + mount.vfs.name + "\" is gone");
        }
        FolderRequest request;
        request.folder = vfs->folder;
        request.tag = "vfs" + std::to_string(requests.size());
        request.read_only = mount.read_only;
        requests.push_back(std::move(request));
    }
    auto work = [disks = core_->parts.disks, run = record_.id, requests = std::move(requests)] {
        return prepare(*disks, run, requests);
    };
    auto folders = co_await on_workers(*core_->parts.workers, std::move(work));
    if (!folders) co_return protocol::fail(std::move(folders).error().context("prepare a VFS"));
    co_return folders;
}

void RunSupervisor::take_machine(const Machine& machine) {
    has_machine_ = true;
    paused_ = machine.paused;
    for (const FolderServer& server : machine.virtiofsd) {
        auto died = [weak = weak_from_this(), folder = server.folder] {
            if (const auto self = weak.lock()) self->on_virtiofsd_died(folder);
        };
        virtiofsd_.push_back(core_->parts.watch_process(server.pid, std::move(died)));
    }
}

void RunSupervisor::on_virtiofsd_died(std::size_t folder) {
    virtiofsd_died_ = true;
    if (ending() || !waiting_cause_.empty()) return;
    const auto& mounts = record_.definition.vfs;
    const std::string where =
        folder < mounts.size() ? "mounted at /mnt/" + mounts[folder].mount_name : "it has mounted";
    look_at_console_ = true;
    fail_after(virtiofsd_grace, "the file system server (virtiofsd) of the VFS " + where + " died");
}

asio::awaitable<void> RunSupervisor::correct_clock(Self) {
    auto set = guest_->set_clock(core_->clock.unix_ms() * 1'000'000);
    if (const auto done = co_await std::move(set); !done) {
        spdlog::warn("a machine's clock stays behind run={} error={}", record_.id.str(),
                     done.error().describe());
    }
}

Async<void> RunSupervisor::connect(Deadline deadline) {
    GuestAddress address;
    address.transport =
        record_.transport == to_string(Transport::vsock) ? Transport::vsock : Transport::serial;
    address.cid = record_.cid;
    address.serial_socket = core_->parts.disks->layout(record_.id).serial_socket;
    guest_ = core_->parts.guests(record_.id, address, callbacks());
    guest_->expect_silence(paused_);
    auto hello = co_await guest_->connect(deadline, record_.agent_boot_id);
    if (!hello) {
        co_return protocol::fail(std::move(hello).error().context("connect to the agent"));
    }
    connected_ = true;
    record_.agent_boot_id = hello->boot_id.value_or("");
    co_return core_->database.update_run(record_);
}

GuestCallbacks RunSupervisor::callbacks() {
    GuestCallbacks callbacks;
    callbacks.lost = [weak = weak_from_this()](const protocol::Failure& why) {
        const auto self = weak.lock();
        if (!self) return;
        self->guest_usable_ = false;
        self->look_at_console_ = true;
        self->fail("the agent in the guest was lost: " + protocol::escape_foreign(why.message()));
    };
    callbacks.power = [weak = weak_from_this()](const protocol::PowerNotice& notice) {
        if (const auto self = weak.lock()) self->on_power(notice);
    };
    callbacks.late_report = [weak = weak_from_this()](const protocol::CommandReport& report) {
        if (const auto self = weak.lock()) self->commands_->on_late_report(report);
    };
    callbacks.tunnel = [weak = weak_from_this()](TunnelKind kind, const protocol::Tunnel& tunnel,
                                                 std::shared_ptr<TunnelStream> stream) {
        const auto self = weak.lock();
        const TunnelHandler* handler = nullptr;
        if (self && !self->ending()) {
            handler = kind == TunnelKind::api ? &self->core_->parts.api_tunnel
                                              : &self->core_->parts.egress_tunnel;
        }
        if (!handler || !*handler) return stream->close();
        (*handler)(self->record_, tunnel, std::move(stream));
    };
    return callbacks;
}

void RunSupervisor::on_power(const protocol::PowerNotice& notice) {
    // The agent's clock is not ours, but whoever is root inside may speak in its place.
    constexpr std::int64_t drift_ms = 5'000;
    if (notice.action == "deadline" && left_ms() <= drift_ms) return on_deadline();
    fail_surely("the machine was ended from inside (" +
                protocol::escape_foreign(notice.action, 40) + ")");
}

}  // namespace host::sandbox
