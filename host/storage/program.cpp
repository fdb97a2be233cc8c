#include "host/storage/program.hpp"

#include "protocol/base/name.hpp"
#include "protocol/base/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace host::storage {
namespace {

using protocol::Failure;
using protocol::Kind;
using protocol::Result;
using protocol::UniqueFd;
using Clock = std::chrono::steady_clock;

constexpr std::size_t output_limit = 64u << 10;

// posix_spawn's two attribute objects, destroyed with the scope.
class SpawnSetup {
  public:
    SpawnSetup() {
        posix_spawn_file_actions_init(&actions_);
        posix_spawnattr_init(&attributes_);
    }
    ~SpawnSetup() {
        posix_spawn_file_actions_destroy(&actions_);
        posix_spawnattr_destroy(&attributes_);
    }
    SpawnSetup(const SpawnSetup&) = delete;
    SpawnSetup& operator=(const SpawnSetup&) = delete;

    // Output to `pipe`, input from /dev/null, nothing else open, default signals, nothing blocked.
    void prepare(int pipe) {
        posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions_, pipe, 1);
        posix_spawn_file_actions_adddup2(&actions_, pipe, 2);
        // Asio's sockets are not close-on-exec.
        posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&attributes_, &none);
        sigset_t all;
        sigfillset(&all);
        posix_spawnattr_setsigdefault(&attributes_, &all);
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    Result<pid_t> spawn(const std::vector<std::string>& arguments) {
        std::vector<char*> argv;
        // posix_spawnp takes char* and changes nothing.
        for (const auto& word : arguments) argv.push_back(const_cast<char*>(word.c_str()));
        argv.push_back(nullptr);
        std::string path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        std::string locale = "LC_ALL=C.UTF-8";
        std::array<char*, 3> environment{path.data(), locale.data(), nullptr};
        pid_t pid = 0;
        const int error =
            posix_spawnp(&pid, argv[0], &actions_, &attributes_, argv.data(), environment.data());
        if (error == ENOENT)
            return protocol::fail(Kind::not_found, arguments[0] + " is not installed");
        if (error != 0)
            return protocol::fail(Failure::from_errno("starting " + arguments[0], error));
        return pid;
    }

  private:
    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

// A child that is certainly reaped: the pid stays ours until then, so killing by pid is safe.
class Child {
  public:
    explicit Child(pid_t pid)
        : pid_(pid), pidfd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}
    ~Child() {
        if (!reaped_) {
            kill();
            reap();
        }
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    void kill() const { ::kill(pid_, SIGKILL); }
    int pidfd() const { return pidfd_.get(); }
    int reap() {
        int status = 0;
        while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        reaped_ = true;
        return status;
    }

  private:
    pid_t pid_;
    UniqueFd pidfd_;
    bool reaped_ = false;
};

// Appends what is there; false at end of file.
bool drain(int fd, std::string& output) {
    std::array<char, 4'096> buffer{};
    for (;;) {
        const ssize_t count = read(fd, buffer.data(), buffer.size());
        if (count == 0) return false;
        if (count < 0) return errno == EAGAIN || errno == EINTR;
        const std::size_t room = output_limit - output.size();
        output.append(buffer.data(), std::min(static_cast<std::size_t>(count), room));
    }
}

ProgramOutcome watch(Child& child, int pipe, const ProgramRequest& request) {
    const auto deadline = Clock::now() + request.limit;
    ProgramOutcome outcome;
    std::array<pollfd, 2> entries{pollfd{pipe, POLLIN, 0}, pollfd{child.pidfd(), POLLIN, 0}};
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        if (left <= 0) {
            outcome.end = ProgramOutcome::End::timed_out;
            child.kill();
            break;
        }
        if (poll(entries.data(), entries.size(), static_cast<int>(left)) < 0) continue;  // EINTR
        if (entries[0].revents != 0 && !drain(pipe, outcome.output)) entries[0].fd = -1;
        if (request.enough && request.enough(outcome.output)) {
            outcome.end = ProgramOutcome::End::enough;
            child.kill();
            break;
        }
        // Its own end counts, not that of a descendant which holds the pipe.
        if (entries[1].revents != 0) {
            drain(pipe, outcome.output);
            break;
        }
    }
    const int status = child.reap();
    if (outcome.end == ProgramOutcome::End::exited) {
        if (WIFSIGNALED(status)) outcome.end = ProgramOutcome::End::killed_by_signal;
        outcome.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    }
    return outcome;
}

}  // namespace

Result<ProgramOutcome> run_program(const ProgramRequest& request) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
        return protocol::fail(Failure::from_errno("pipe2", errno));
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    fcntl(reader.get(), F_SETFL, O_NONBLOCK);
    SpawnSetup setup;
    setup.prepare(writer.get());
    TRY(const pid_t pid, setup.spawn(request.arguments));
    Child child(pid);
    writer.reset();
    if (child.pidfd() < 0) return protocol::fail(Failure::from_errno("pidfd_open", errno));
    return watch(child, reader.get(), request);
}

Result<std::string> run_program_checked(const ProgramRequest& request) {
    TRY(auto outcome, run_program(request));
    using End = ProgramOutcome::End;
    if (outcome.end == End::timed_out) {
        return protocol::fail(Kind::timed_out,
                              fmt::format("{} did not end within {} s", request.arguments[0],
                                          request.limit.count() / 1000));
    }
    if (outcome.end != End::enough && (outcome.end != End::exited || outcome.code != 0)) {
        return protocol::fail(Kind::io, fmt::format("{} failed: {}", request.arguments[0],
                                                    protocol::escape_foreign(outcome.output, 600)));
    }
    return std::move(outcome.output);
}

}  // namespace host::storage
