#pragma once
// Boots the real kernel and initrd under KVM, without libvirt, and waits for the agent's word.
// Blocking.

#include <chrono>
#include <string>

namespace host::machine {

struct KvmProbe {
    KvmProbe() = default;
    bool works = false;
    // "a probe guest booted under KVM in 0.4 s", "a guest did not boot under it within 8 s"
    std::string finding;
};

KvmProbe probe_kvm(const std::string& kernel, const std::string& initrd,
                   std::chrono::milliseconds deadline);

}  // namespace host::machine
