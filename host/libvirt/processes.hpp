#pragma once
// The processes behind a domain, found through the pid files that libvirt keeps and held by pidfd,
// so that a reused pid is never mistaken for them. Used by the connection; blocking.

#include "protocol/base/unique_fd.hpp"

#include <chrono>
#include <string>
#include <sys/types.h>
#include <vector>

namespace host::libvirt {

struct HeldProcess {
    HeldProcess() = default;
    pid_t pid{};
    protocol::UniqueFd pidfd;
    std::size_t device = 0;  // of a virtiofsd: the place of its file system in the domain's XML
};

struct MachineProcesses {
    MachineProcesses() = default;
    std::vector<HeldProcess> qemu;       // one, or none when its pid file is gone
    std::vector<HeldProcess> virtiofsd;  // those named by pid files
    std::vector<HeldProcess> helpers;    // children that virtiofsd made to sandbox itself
};

// `id`: the domain's number, which is in the names of virtiofsd's pid files.
MachineProcesses find_processes(const std::string& domain_name, int id);

// Waits until all are gone; after half the limit, those that are not get SIGKILL. False when some
// outlived even that.
bool wait_gone(const MachineProcesses& processes, std::chrono::milliseconds limit);

}  // namespace host::libvirt
