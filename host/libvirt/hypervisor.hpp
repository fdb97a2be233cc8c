#pragma once
// LibvirtHypervisor: sandbox::Hypervisor over one libvirt session, which it reopens when libvirtd
// was restarted. Private to this folder; use connection.hpp.
//
// Threading: every public call from any thread. Inside: the session pointer, the known runs and the
// observers are each behind `mutex_`, never held across a call to libvirt or an observer.

#include "host/libvirt/connection.hpp"
#include "host/libvirt/domain_xml.hpp"
#include "host/libvirt/processes.hpp"
#include "host/libvirt/session.hpp"
#include "host/sandbox/hypervisor.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace host::libvirt {

class LibvirtHypervisor final : public sandbox::Hypervisor {
  public:
    LibvirtHypervisor(std::string uri, protocol::InstallationId installation,
                      MachineLifetime lifetime);
    ~LibvirtHypervisor() override;

    // First connection; nothing else may be called before it succeeded.
    protocol::Result<void> open();

    protocol::Result<sandbox::Machine> start(const sandbox::MachineSpec& spec) override;
    protocol::Result<void> destroy(const protocol::RunId& run) override;
    protocol::Result<std::vector<sandbox::Machine>> list() override;
    void observe(std::function<void(sandbox::MachineEvent)> observer) override;
    void on_pause(std::function<void(protocol::RunId, bool)> observer) override;
    void on_reconnect(std::function<void()> observer) override;

  private:
    // A machine that this process started or found. Kept until destroy(), so that its processes can
    // be waited for after the domain has ended by itself.
    struct Known {
        Known() = default;
        std::shared_ptr<const MachineProcesses> processes;
        bool end_told = false;
        // While libvirt still creates it, its answer is what counts: it knows why QEMU ended.
        bool starting = false;
        std::optional<sandbox::MachineEvent> early_end;
    };

    protocol::Result<std::shared_ptr<Session>> session();
    // Opens one and stores it.
    protocol::Result<void> open_session();
    void lost(std::uint64_t number);
    void reconnect_loop();
    void tell_reconnected();
    void on_news(const std::string& domain_name, DomainNews news);
    void tell_early_end(const protocol::RunId& run);
    void tell_paused(const protocol::RunId& run, bool paused);
    protocol::Result<sandbox::Machine> describe(const protocol::RunId& run, virDomain& domain);
    // nullopt: not of this installation. not_found: gone meanwhile.
    protocol::Result<std::optional<protocol::RunId>> owned_run(virDomain& domain) const;
    protocol::Result<std::optional<sandbox::Machine>> describe_owned(virDomain& domain);
    // Ends the domain; the processes that must be waited for.
    protocol::Result<std::shared_ptr<const MachineProcesses>> end(const protocol::RunId& run,
                                                                  virDomain& domain);
    std::shared_ptr<const MachineProcesses> remembered(const protocol::RunId& run);

    const std::string uri_;
    const protocol::InstallationId installation_;
    const MachineLifetime lifetime_;
    HostTraits traits_;

    std::mutex mutex_;
    std::condition_variable wake_;
    std::shared_ptr<Session> session_;  // null while libvirt does not answer
    // Sessions are numbered in the order they were opened. One may be lost before it was even
    // stored.
    std::uint64_t opened_ = 0;
    std::uint64_t lost_up_to_ = 0;
    std::vector<std::shared_ptr<Session>>
        dropped_;  // closed by the reconnector, not by their callback
    std::map<protocol::RunId, Known> known_;
    std::function<void(sandbox::MachineEvent)> observer_;
    std::function<void(protocol::RunId, bool)> pause_observer_;
    std::function<void()> reconnect_observer_;
    bool stopping_ = false;
    std::thread reconnector_;  // last: uses everything above
};

}  // namespace host::libvirt
