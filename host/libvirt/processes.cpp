#include "host/libvirt/processes.hpp"

#include <charconv>
#include <fstream>
#include <glob.h>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

namespace host::libvirt {
namespace {

constexpr char state_folder[] = "/run/libvirt/qemu";
// libvirt shortens a domain's name to this many characters in the names of its files.
constexpr std::size_t short_name_length = 20;

std::optional<pid_t> read_pid(const std::string& file) {
    std::ifstream input(file);
    pid_t pid = 0;
    if (!(input >> pid) || pid <= 1) return std::nullopt;
    return pid;
}

// A pid file can be stale; the name that the kernel shows decides. Checked after the pidfd was
// opened, so that it is the held process that is looked at.
std::optional<HeldProcess> hold(pid_t pid, const std::string& expected_name) {
    HeldProcess held;
    held.pid = pid;
    // By number: glibc 2.36 declares the wrappers for C only. Close-on-exec by definition.
    held.pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!held.pidfd) return std::nullopt;
    std::ifstream comm(fmt::format("/proc/{}/comm", pid));
    std::string name;
    if (!std::getline(comm, name) || !name.starts_with(expected_name)) return std::nullopt;
    return held;
}

std::vector<std::string> matching_files(const std::string& pattern) {
    std::vector<std::string> files;
    glob_t found{};
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
        for (std::size_t i = 0; i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
    }
    globfree(&found);
    return files;
}

void add_children(pid_t parent, std::vector<HeldProcess>& into) {
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", parent));
    for (pid_t child = 0; children >> child;) {
        if (auto held = hold(child, "virtiofsd")) into.push_back(std::move(*held));
    }
}

bool gone(const HeldProcess& process, std::chrono::steady_clock::time_point deadline) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        pollfd entry{process.pidfd.get(), POLLIN, 0};
        const int ready = poll(&entry, 1, static_cast<int>(std::max<long>(left.count(), 0)));
        if (ready > 0) return true;
        if (ready == 0) return false;
        if (errno != EINTR) return false;
    }
}

}  // namespace

MachineProcesses find_processes(const std::string& domain_name, int id) {
    MachineProcesses result;
    if (auto pid = read_pid(fmt::format("{}/{}.pid", state_folder, domain_name))) {
        if (auto held = hold(*pid, "qemu-system")) result.qemu.push_back(std::move(*held));
    }
    // Then comes the device's alias: "fs0", "fs1"... in the order of the domain's XML.
    const std::string prefix =
        fmt::format("{}/{}-{}-fs", state_folder, id, domain_name.substr(0, short_name_length));
    for (const auto& file : matching_files(prefix + "*.pid")) {
        const auto pid = read_pid(file);
        if (!pid) continue;
        if (auto held = hold(*pid, "virtiofsd")) {
            const std::string number = file.substr(prefix.size());
            std::from_chars(number.data(), number.data() + number.size(), held->device);
            add_children(held->pid, result.helpers);
            result.virtiofsd.push_back(std::move(*held));
        }
    }
    return result;
}

bool wait_gone(const MachineProcesses& processes, std::chrono::milliseconds limit) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<const HeldProcess*> waiting;
    for (const auto* group : {&processes.qemu, &processes.virtiofsd, &processes.helpers}) {
        for (const auto& process : *group) waiting.push_back(&process);
    }
    std::erase_if(waiting, [&](const auto* p) { return gone(*p, start + limit / 2); });
    for (const auto* process : waiting) {
        syscall(SYS_pidfd_send_signal, process->pidfd.get(), SIGKILL, nullptr, 0);
    }
    std::erase_if(waiting, [&](const auto* p) { return gone(*p, start + limit); });
    return waiting.empty();
}

}  // namespace host::libvirt
