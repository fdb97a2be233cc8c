#pragma once
// Capabilities: what this host can run machines with, and why. Found out by trying, never by
// believing that /dev/kvm exists: a real guest is booted under KVM once per host boot and kernel.

#include "host/sandbox/hypervisor.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

namespace host::machine {

enum class AcceleratorChoice : std::uint8_t { automatic, kvm, tcg };

struct AcceleratorReport {
    AcceleratorReport() = default;
    sandbox::Accelerator accelerator{};
    std::string reason;  // one sentence for users: "KVM: a probe guest booted in 0.4 s"
    bool from_cache = false;
};

struct ProbeInputs {
    ProbeInputs() = default;
    std::string kernel,
        initrd;              // vmlinux and the initrd with the agent (kernel word capsule.probe)
    std::string cache_file;  // below the runtime folder; keyed by boot id, kernel, initrd and QEMU
    std::chrono::milliseconds deadline{8'000};
};

// Blocking (up to the deadline). With AcceleratorChoice::kvm and a failing probe: unavailable.
sandbox::Result<AcceleratorReport> choose_accelerator(AcceleratorChoice choice,
                                                      const ProbeInputs& inputs);

struct TransportReport {
    TransportReport() = default;
    sandbox::Transport transport{};
    std::string reason;
};
// vsock where /dev/vhost-vsock can be opened; opens no AF_VSOCK socket.
TransportReport choose_transport();

// One line of `mt doctor`.
struct Check {
    Check() = default;
    std::string name;  // "kvm"
    enum class Verdict : std::uint8_t { ok, warning, failed } verdict{};
    std::string detail;  // what was found
    std::string fix;     // what a user can do; empty when ok
};
struct DoctorOptions {
    DoctorOptions() = default;
    std::string images, state;
    std::string image;           // "" = the standard one
    std::string egress_program;  // path of capsule-egress
    std::chrono::seconds kvm_patience{8};
    bool boot_capsule = true;  // boot a real machine through libvirt
};
// Blocking; needs no daemon. Calls `progress` before each check.
std::vector<Check> run_doctor(const DoctorOptions& options,
                              const std::function<void(const std::string&)>& progress);
boost::json::object to_json(const std::vector<Check>& checks);

}  // namespace host::machine
