#include "guest-agent/boot/linux_machine.hpp"

#include "guest-agent/boot/early.hpp"
#include "guest-agent/boot/mounting.hpp"
#include "guest-agent/process/account.hpp"
#include "guest-agent/system/small_file.hpp"
#include "protocol/base/unique_fd.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <memory>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace guest_agent {
namespace {

using protocol::Failure;
using protocol::Kind;
using protocol::Result;
using protocol::UniqueFd;

constexpr auto release_limit = std::chrono::seconds(4);
constexpr int busy_step_ms = 20;
constexpr int busy_steps = 75;  // 1.5 s: what was killed lets go of its files within moments

// Names resolve by files only, and programs look their own host's name up.
void name_in_hosts(const std::string& name) {
    const auto hosts = read_small_file("/etc/hosts", 1u << 20);
    if (hosts && hosts->find(name) != std::string::npos) return;
    const UniqueFd file(
        ::open("/etc/hosts", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (file) ::dprintf(file.get(), "127.0.1.1 %s\n", name.c_str());
}

void pause_ms(int ms) {
    const struct timespec pause { 0, ms * 1'000'000L };
    ::nanosleep(&pause, nullptr);
}

// In a child process: a VFS whose server is gone hangs whoever touches it.
int release_all() {
    const auto mounts = read_small_file("/proc/self/mounts", 1u << 20);
    if (!mounts) return 1;
    for (const auto& path : mounts_of_type(*mounts, "virtiofs")) {
        const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (folder) ::syncfs(folder.get());
    }
    for (const auto& path : mounts_of_type(*mounts, "virtiofs")) {
        for (int step = 0; ::umount2(path.c_str(), UMOUNT_NOFOLLOW) < 0; ++step) {
            if (errno != EBUSY) break;
            if (step == busy_steps) {
                ::umount2(path.c_str(), UMOUNT_NOFOLLOW | MNT_DETACH);
                break;
            }
            pause_ms(busy_step_ms);
        }
    }
    return 0;
}

pid_t fork_helper(int (*work)()) {
    sigset_t all, before;
    ::sigfillset(&all);
    // The agent's handlers write to a pipe that the child shares.
    ::sigprocmask(SIG_SETMASK, &all, &before);
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(work());
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return pid;
}

}  // namespace

Result<void> LinuxMachine::set_hostname(const std::string& name) {
    if (::sethostname(name.c_str(), name.size()) < 0) {
        return protocol::fail(Failure::from_errno("sethostname", errno));
    }
    name_in_hosts(name);
    return {};
}

Result<void> LinuxMachine::set_clock(std::int64_t unix_ns) {
    constexpr std::int64_t second = 1'000'000'000;
    if (unix_ns < 0) return protocol::fail(Kind::invalid_argument, "a time before 1970");
    const struct timespec now { unix_ns / second, unix_ns % second };
    if (::clock_settime(CLOCK_REALTIME, &now) < 0) {
        return protocol::fail(Failure::from_errno("clock_settime", errno));
    }
    return {};
}

Result<void> LinuxMachine::mount(const protocol::Mount& request) {
    const std::string path = "/mnt/" + request.name;
    ::mkdir(path.c_str(), 0755);
    // Mounted on the opened folder, not on a path that could have become a link.
    const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder) return protocol::fail(Failure::from_errno("open " + path, errno));
    const std::string target = "/proc/self/fd/" + std::to_string(folder.get());
    unsigned long flags = MS_NOSUID | MS_NODEV;
    if (request.read_only) flags |= MS_RDONLY;
    if (::mount(request.tag.c_str(), target.c_str(), "virtiofs", flags, nullptr) < 0) {
        return protocol::fail(Failure::from_errno("mount virtiofs on " + path, errno));
    }
    return {};
}

Result<void> LinuxMachine::write_secret(const std::string& name, std::string_view bytes) {
    const std::string path = "/mnt/secrets/" + name;
    const std::string fresh = "/mnt/secrets/." + name;  // no valid name begins with a dot
    ::unlink(fresh.c_str());
    const UniqueFd file(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400));
    if (!file) return protocol::fail(Failure::from_errno("create " + path, errno));
    if (::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
        ::fchmod(file.get(), 0400) < 0 || ::fchown(file.get(), default_user, default_user) < 0 ||
        ::rename(fresh.c_str(), path.c_str()) < 0) {
        const int number = errno;
        ::unlink(fresh.c_str());
        return protocol::fail(Failure::from_errno("write " + path, number));
    }
    return {};
}

void LinuxMachine::release_vfs(bool kill_all, std::function<void(Result<void>)> done) {
    // As process 1 this reaches everything but the agent, also what has left its cgroup.
    if (kill_all && ::getpid() == 1) ::kill(-1, SIGKILL);
    const pid_t pid = fork_helper(&release_all);
    if (pid < 0) {
        boost::asio::post(executor_, [done = std::move(done), number = errno] {
            done(protocol::fail(Failure::from_errno("fork", number)));
        });
        return;
    }
    // Whichever comes first answers; the other finds nothing left to call.
    const auto answer = std::make_shared<std::function<void(Result<void>)>>(std::move(done));
    const auto limit = std::make_shared<boost::asio::steady_timer>(executor_, release_limit);
    limit->async_wait([answer](const boost::system::error_code& error) {
        if (error || !*answer) return;
        const auto call = std::exchange(*answer, nullptr);
        call(protocol::fail(Kind::timed_out, "a VFS does not let itself be unmounted"));
    });
    reaper_.watch(pid, [answer, limit](bool signaled, int value) {
        limit->cancel();
        if (!*answer) return;
        const auto call = std::exchange(*answer, nullptr);
        if (!signaled && value == 0) return call({});
        call(protocol::fail(Kind::io, "the mounts cannot be read"));
    });
}

void LinuxMachine::power_off() {
    power_off_now();
}

}  // namespace guest_agent
