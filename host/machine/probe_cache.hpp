#pragma once
// The result of the KVM probe, kept for one boot of the host and one set of kernel, initrd and
// QEMU. Blocking.

#include "host/machine/kvm_probe.hpp"

#include <optional>
#include <string>

namespace host::machine {

class ProbeCache {
  public:
    // `file` "" = nothing is kept.
    ProbeCache(std::string file, const std::string& kernel, const std::string& initrd);
    std::optional<KvmProbe> read() const;
    // Best effort: a cache that cannot be written costs the next start a probe.
    void write(const KvmProbe& probe) const;

  private:
    std::string file_;
    std::string key_;
};

}  // namespace host::machine
