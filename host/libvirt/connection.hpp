#pragma once
// The one connection to libvirt, as the service sees it: a sandbox::Hypervisor. Wired by main.cpp
// and by `mt doctor`; everything else in this folder is private to it.
//
// Threading: calls block and may come from several threads at once. Two threads of its own: one
// runs libvirt's event loop and calls the observers (which must only copy and post), one reconnects
// with a growing pause after libvirtd went away. Errors: `unavailable` while libvirt does not
// answer.

#include "host/sandbox/hypervisor.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace host::libvirt {

// Machines of the daemon outlive it; those of a check do not outlive the process that makes them.
enum class MachineLifetime : std::uint8_t { own, of_connection };

// `uri`: "qemu:///system". Fails with `unavailable` and what to start when libvirt does not answer.
protocol::Result<std::unique_ptr<sandbox::Hypervisor>> connect(
    std::string uri, protocol::InstallationId installation,
    MachineLifetime lifetime = MachineLifetime::own);

// For `mt doctor`: "9.0.0", "7.2.22".
struct Versions {
    Versions() = default;
    std::string libvirt, qemu;
};
protocol::Result<Versions> versions(const std::string& uri);

// For `mt doctor`: whether libvirt itself uses AppArmor, which it may be told not to.
protocol::Result<bool> confines_with_apparmor(const std::string& uri);

}  // namespace host::libvirt
