#include "guest-agent/boot/early.hpp"

#include "guest-agent/boot/mounting.hpp"
#include "guest-agent/system/console.hpp"
#include "guest-agent/system/small_file.hpp"
#include "protocol/base/unique_fd.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace guest_agent {
namespace {

using protocol::Failure;
using protocol::Result;
using protocol::UniqueFd;

constexpr int agent_nice = -10;  // answers come before the commands' own work

// The kernel opens 0-2 on the console for process 1, where it finds one. Input must be nobody's,
// and what a library says before it aborts should be readable on the host.
void place_standard_descriptors() {
    int null = ::open("/dev/null", O_RDWR | O_NOCTTY);
    if (null < 0) return;
    const int console = ::open("/dev/console", O_WRONLY | O_NOCTTY | O_NONBLOCK);
    ::dup2(null, 0);
    ::dup2(console >= 0 ? console : null, 1);
    ::dup2(console >= 0 ? console : null, 2);
    if (null > 2) ::close(null);
    if (console > 2) ::close(console);
}

void set_own_limits() {
    // Two pipes and a status descriptor for each of some hundred commands, and tunnels.
    const struct rlimit files { 65'536, 524'288 };
    ::setrlimit(RLIMIT_NOFILE, &files);
    [[maybe_unused]] const auto score = write_kernel_file("/proc/self/oom_score_adj", "-1000");
    // SCHED_BATCH: awake, it waits until the running program sleeps or has had its slice. One that
    // prints a lot would be interrupted at each of its writes otherwise. Children start with the
    // normal priority again, and spawn() gives them the normal policy.
    const struct sched_param standard {};
    ::sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &standard);
    ::setpriority(PRIO_PROCESS, 0, agent_nice);
    ::umask(022);
    std::signal(SIGPIPE, SIG_IGN);
    // Ctrl-Alt-Del becomes SIGINT to process 1 instead of a reboot without unmounting.
    ::reboot(RB_DISABLE_CAD);
}

void load_module(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file && ::syscall(SYS_finit_module, file.get(), "", 0) == 0) return;
    if (errno == EEXIST) return;
    say("module " + path + ": " + std::strerror(errno));
}

}  // namespace

Result<void> prepare_process_one() {
    ::mkdir("/dev", 0755);
    ::mkdir("/proc", 0555);
    ::mkdir("/sys", 0555);
    // devtmpfs may be mounted already (CONFIG_DEVTMPFS_MOUNT does not reach an initial RAM file
    // system, but a second mount does no harm).
    TRY_VOID(mount_at("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=0755"));
    place_standard_descriptors();
    TRY_VOID(mount_at("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, ""));
    TRY_VOID(mount_at("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, ""));
    TRY_VOID(
        mount_at("cgroup2", "/sys/fs/cgroup", "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, ""));
    set_own_limits();
    // When memory is so short that what was used within this time would have to go, the kernel ends
    // a program instead of reading the same pages again and again, for minutes (kernel
    // documentation, Multi-Gen LRU, thrashing prevention). Absent: the kernel has no such list.
    [[maybe_unused]] const auto thrashing =
        write_kernel_file("/sys/kernel/mm/lru_gen/min_ttl_ms", "1000");
    return {};
}

void load_modules(const std::string& folder, VsockModules vsock) {
    const auto order = read_small_file(folder + "/order");
    if (!order) return;
    std::string_view rest = *order;
    while (!rest.empty()) {
        const auto end = rest.find('\n');
        const auto name = rest.substr(0, end);
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        const bool of_vsock = name.find("vsock") != std::string_view::npos;
        if (name.empty() || (of_vsock && vsock == VsockModules::skip)) continue;
        load_module(folder + "/" + std::string(name));
    }
}

void bring_loopback_up() {
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    struct ifreq request {};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (!socket || ::ioctl(socket.get(), SIOCSIFFLAGS, &request) < 0) say("lo stays down");
}

void power_off_now() {
    ::reboot(RB_POWER_OFF);
}

}  // namespace guest_agent
