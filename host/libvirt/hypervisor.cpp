#include "host/libvirt/hypervisor.hpp"

#include "host/libvirt/domain_logs.hpp"
#include "host/libvirt/firmware.hpp"
#include "host/libvirt/kvm_access.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <grp.h>
#include <unistd.h>

#include <libvirt/virterror.h>
#include <spdlog/spdlog.h>

namespace host::libvirt {
namespace {

using protocol::Failure;
using protocol::Kind;
using protocol::Result;
using protocol::RunId;
using sandbox::Machine;
using sandbox::MachineEnd;
using sandbox::MachineEvent;
using namespace std::chrono_literals;

constexpr auto reconnect_pause_first = 100ms;
constexpr auto reconnect_pause_longest = 5s;
// libvirt itself gives QEMU 10 s to die of SIGTERM and SIGKILL.
constexpr auto gone_limit = 8s;

Result<gid_t> group_id(const char* name) {
    std::array<char, 16'384> buffer{};
    group entry{};
    group* found = nullptr;
    const int error = getgrnam_r(name, &entry, buffer.data(), buffer.size(), &found);
    if (found == nullptr) {
        return protocol::fail(
            error == 0 ? Failure(Kind::unsupported, std::string("there is no group ") + name +
                                                        ": is libvirt-daemon-system installed?")
                       : Failure::from_errno("getgrnam_r", error));
    }
    return found->gr_gid;
}

DomainHandle look_up(Session& session, const RunId& run) {
    return DomainHandle(virDomainLookupByName(session.get(), domain_name(run).c_str()));
}

std::string take(char* text) {
    const std::unique_ptr<char, decltype(&std::free)> owned(text, &std::free);
    return owned ? std::string(owned.get()) : std::string();
}

void read_state(virDomain& domain, Machine& machine) {
    int state = 0;
    int reason = 0;
    if (virDomainGetState(&domain, &state, &reason, 0) < 0) return;
    switch (state) {
        case VIR_DOMAIN_RUNNING:
        case VIR_DOMAIN_BLOCKED:
            machine.active = true;
            return;
        case VIR_DOMAIN_PAUSED:
            // One that QEMU paused for good counts as dead: nothing will make it go on.
            machine.active =
                reason != VIR_DOMAIN_PAUSED_IOERROR && reason != VIR_DOMAIN_PAUSED_CRASHED;
            machine.paused = reason == VIR_DOMAIN_PAUSED_USER;
            return;
        default:
            return;
    }
}

}  // namespace

LibvirtHypervisor::LibvirtHypervisor(std::string uri, protocol::InstallationId installation,
                                     MachineLifetime lifetime)
    : uri_(std::move(uri)), installation_(std::move(installation)), lifetime_(lifetime) {}

LibvirtHypervisor::~LibvirtHypervisor() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    if (reconnector_.joinable()) reconnector_.join();
    // Ends the callbacks, which refer to *this, before the members they use go.
    session_.reset();
}

Result<void> LibvirtHypervisor::open() {
    TRY(traits_.qemu_group, group_id("libvirt-qemu"));
    traits_.firmware = boot_firmware();
    TRY_VOID(open_session());
    reconnector_ = std::thread([this] { reconnect_loop(); });
    return {};
}

// ---- the session
// ----------------------------------------------------------------------------------

Result<void> LibvirtHypervisor::open_session() {
    std::uint64_t number = 0;
    {
        const std::lock_guard lock(mutex_);
        number = ++opened_;
    }
    SessionCallbacks callbacks;
    callbacks.news = [this](const std::string& name, DomainNews news) { on_news(name, news); };
    callbacks.closed = [this, number] { lost(number); };
    TRY(auto fresh, Session::open(uri_, std::move(callbacks)));
    const std::lock_guard lock(mutex_);
    if (lost_up_to_ >= number) {
        dropped_.push_back(std::move(fresh));
        return protocol::fail(Kind::unavailable, "libvirt went away at once");
    }
    session_ = std::move(fresh);
    return {};
}

Result<std::shared_ptr<Session>> LibvirtHypervisor::session() {
    const std::lock_guard lock(mutex_);
    if (!session_) {
        return protocol::fail(Kind::unavailable, "libvirt does not answer at " + uri_);
    }
    return session_;
}

void LibvirtHypervisor::lost(std::uint64_t number) {
    {
        const std::lock_guard lock(mutex_);
        lost_up_to_ = number;
        // Closing it here, in its own callback, would wait for this callback.
        if (number == opened_ && session_) dropped_.push_back(std::exchange(session_, nullptr));
    }
    spdlog::warn("connection to libvirt lost uri={}", uri_);
    wake_.notify_all();
}

void LibvirtHypervisor::reconnect_loop() {
    std::chrono::milliseconds pause = reconnect_pause_first;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        if (session_) {
            pause = reconnect_pause_first;
            wake_.wait(lock, [this] { return stopping_ || !session_; });
            continue;
        }
        auto dropped = std::exchange(dropped_, {});
        lock.unlock();
        dropped.clear();
        lock.lock();
        wake_.wait_for(lock, pause, [this] { return stopping_; });
        pause = std::min<std::chrono::milliseconds>(pause * 2, reconnect_pause_longest);
        if (stopping_) break;
        lock.unlock();
        if (open_session()) {
            spdlog::info("connection to libvirt is back uri={}", uri_);
            tell_reconnected();
        }
        lock.lock();
    }
}

void LibvirtHypervisor::tell_reconnected() {
    std::function<void()> observer;
    {
        const std::lock_guard lock(mutex_);
        observer = reconnect_observer_;
    }
    if (observer) observer();
}

void LibvirtHypervisor::observe(std::function<void(MachineEvent)> observer) {
    const std::lock_guard lock(mutex_);
    observer_ = std::move(observer);
}

void LibvirtHypervisor::on_pause(std::function<void(RunId, bool)> observer) {
    const std::lock_guard lock(mutex_);
    pause_observer_ = std::move(observer);
}

void LibvirtHypervisor::on_reconnect(std::function<void()> observer) {
    const std::lock_guard lock(mutex_);
    reconnect_observer_ = std::move(observer);
}

// ---- events
// ---------------------------------------------------------------------------------------

void LibvirtHypervisor::on_news(const std::string& name, DomainNews news) {
    const auto run = RunId::parse(std::string_view(name).substr(std::size(name_prefix) - 1));
    if (!run) return;
    MachineEvent event(*run);
    switch (news) {
        case DomainNews::paused:
        case DomainNews::resumed:
            tell_paused(*run, news == DomainNews::paused);
            return;
        case DomainNews::panicked:
            event.end = MachineEnd::crashed;
            event.panicked = true;
            break;
        case DomainNews::crashed:
            event.end = MachineEnd::crashed;
            break;
        case DomainNews::shut_down:
            event.end = MachineEnd::shut_down;
            break;
        case DomainNews::destroyed:
            event.end = MachineEnd::destroyed;
            break;
        case DomainNews::failed:
            event.end = MachineEnd::failed;
            event.detail = "QEMU ended unexpectedly";
            break;
        case DomainNews::disk_full:
            event.end = MachineEnd::failed;
            event.detail = "the host has no room left for the machine's disk";
            break;
        case DomainNews::disk_failed:
            event.end = MachineEnd::failed;
            event.detail = "the host could not write the machine's disk";
            break;
        case DomainNews::control_lost:
            event.end = MachineEnd::failed;
            event.detail = "libvirt lost control of the machine";
            break;
    }
    std::function<void(MachineEvent)> observer;
    {
        const std::lock_guard lock(mutex_);
        // Machines of other installations are nobody's business here; of ours the first news
        // counts.
        const auto known = known_.find(*run);
        if (known == known_.end() || std::exchange(known->second.end_told, true)) return;
        if (known->second.starting) {
            known->second.early_end = std::move(event);
            return;
        }
        observer = observer_;
    }
    if (observer) observer(std::move(event));
}

void LibvirtHypervisor::tell_early_end(const RunId& run) {
    std::optional<MachineEvent> event;
    std::function<void(MachineEvent)> observer;
    {
        const std::lock_guard lock(mutex_);
        const auto known = known_.find(run);
        if (known == known_.end()) return;
        known->second.starting = false;
        event = std::exchange(known->second.early_end, std::nullopt);
        observer = observer_;
    }
    if (event && observer) observer(std::move(*event));
}

void LibvirtHypervisor::tell_paused(const RunId& run, bool paused) {
    std::function<void(RunId, bool)> observer;
    {
        const std::lock_guard lock(mutex_);
        if (known_.contains(run)) observer = pause_observer_;
    }
    if (observer) observer(run, paused);
}

// ---- machines
// -------------------------------------------------------------------------------------

Result<Machine> LibvirtHypervisor::start(const sandbox::MachineSpec& spec) {
    TRY(const auto current, session());
    TRY(const std::string xml, domain_xml(spec, installation_, traits_));
    if (spec.accelerator == sandbox::Accelerator::kvm) {
        TRY_VOID(let_group_use_kvm(traits_.qemu_group));
    }
    {
        // Known before it exists, or an end right after the start would be missed.
        const std::lock_guard lock(mutex_);
        Known known;
        known.starting = true;
        known_[spec.run] = std::move(known);
    }
    unsigned flags = VIR_DOMAIN_START_VALIDATE;
    if (lifetime_ == MachineLifetime::of_connection) flags |= VIR_DOMAIN_START_AUTODESTROY;
    const DomainHandle domain(virDomainCreateXML(current->get(), xml.c_str(), flags));
    if (!domain) {
        auto failure = last_failure("starting the machine");
        remove_logs(spec.run);
        const std::lock_guard lock(mutex_);
        known_.erase(spec.run);
        return protocol::fail(std::move(failure));
    }
    tell_early_end(spec.run);
    auto machine = describe(spec.run, *domain);
    if (!machine) {
        if (auto undone = destroy(spec.run); !undone) {
            spdlog::warn("machine could not be removed run={} error={}", spec.run.str(),
                         undone.error().describe());
        }
    }
    return machine;
}

Result<Machine> LibvirtHypervisor::describe(const RunId& run, virDomain& domain) {
    Machine machine(run);
    read_state(domain, machine);
    const std::string xml = take(virDomainGetXMLDesc(&domain, 0));
    if (xml.empty()) return protocol::fail(last_failure("reading the machine's description"));
    machine.cid = parse_cid(xml);
    auto processes = std::make_shared<const MachineProcesses>(
        find_processes(domain_name(run), static_cast<int>(virDomainGetID(&domain))));
    for (const auto& process : processes->virtiofsd) {
        machine.virtiofsd.emplace_back(process.pid, process.device);
    }
    const std::lock_guard lock(mutex_);
    known_[run].processes = std::move(processes);
    return machine;
}

Result<std::optional<RunId>> LibvirtHypervisor::owned_run(virDomain& domain) const {
    const std::string element =
        take(virDomainGetMetadata(&domain, VIR_DOMAIN_METADATA_ELEMENT, metadata_uri, 0));
    if (element.empty()) {
        if (last_error_is(VIR_ERR_NO_DOMAIN_METADATA)) return std::nullopt;
        return protocol::fail(last_failure("reading a machine's metadata"));
    }
    auto ownership = parse_ownership(element);
    if (!ownership || ownership->installation != installation_.str()) return std::nullopt;
    return std::move(ownership->run);
}

Result<std::vector<Machine>> LibvirtHypervisor::list() {
    TRY(const auto current, session());
    virDomainPtr* raw = nullptr;
    const int count = virConnectListAllDomains(current->get(), &raw, 0);
    if (count < 0) return protocol::fail(last_failure("listing machines"));
    std::vector<DomainHandle> domains;
    for (int i = 0; i < count; ++i) domains.emplace_back(raw[i]);
    std::free(raw);

    std::vector<Machine> machines;
    for (const auto& domain : domains) {
        const char* name = virDomainGetName(domain.get());
        if (name == nullptr || !std::string_view(name).starts_with(name_prefix)) continue;
        auto machine = describe_owned(*domain);
        if (!machine && machine.error().kind() == Kind::not_found) continue;
        if (!machine) return protocol::fail(std::move(machine).error());
        if (*machine) machines.push_back(std::move(**machine));
    }
    return machines;
}

Result<std::optional<Machine>> LibvirtHypervisor::describe_owned(virDomain& domain) {
    TRY(const auto run, owned_run(domain));
    if (!run) return std::nullopt;
    TRY(auto machine, describe(*run, domain));
    return machine;
}

std::shared_ptr<const MachineProcesses> LibvirtHypervisor::remembered(const RunId& run) {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(run);
    return known == known_.end() ? nullptr : known->second.processes;
}

Result<void> LibvirtHypervisor::destroy(const RunId& run) {
    TRY(const auto current, session());
    auto processes = remembered(run);
    if (const auto domain = look_up(*current, run)) {
        auto ended = end(run, *domain);
        if (ended) {
            // Looked up anew: a machine found after a restart of ours may not be remembered.
            processes = std::move(*ended);
        } else if (ended.error().kind() != Kind::not_found) {
            return protocol::fail(std::move(ended).error());
        }
    } else if (!last_error_is(VIR_ERR_NO_DOMAIN)) {
        return protocol::fail(last_failure("looking the machine up"));
    }
    if (processes && !wait_gone(*processes, gone_limit)) {
        return protocol::fail(Kind::timed_out, "processes of the machine outlived it");
    }
    remove_logs(run);
    const std::lock_guard lock(mutex_);
    known_.erase(run);
    return {};
}

Result<std::shared_ptr<const MachineProcesses>> LibvirtHypervisor::end(const RunId& run,
                                                                       virDomain& domain) {
    TRY(const auto owner, owned_run(domain));
    if (!owner) {
        return protocol::fail(Kind::forbidden,
                              domain_name(run) + " is not a machine of this installation");
    }
    auto processes = std::make_shared<const MachineProcesses>(
        find_processes(domain_name(run), static_cast<int>(virDomainGetID(&domain))));
    if (virDomainDestroy(&domain) < 0) {
        auto failure = last_failure("ending the machine");
        // conflict, "not running": it ended by itself between the look and the call.
        if (failure.kind() != Kind::not_found && failure.kind() != Kind::conflict) {
            return protocol::fail(std::move(failure));
        }
    }
    return processes;
}

}  // namespace host::libvirt
