#include "guest-agent/process/spawn.hpp"

#include "guest-agent/process/terminal.hpp"
#include "protocol/base/name.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace guest_agent {
namespace {

using protocol::Failure;
using protocol::Result;
using protocol::UniqueFd;

constexpr int cannot_execute = 126;
constexpr int not_found = 127;

enum class Stage : std::int32_t { session = 1, descriptors, identity, directory, execute };

struct StartFailure {
    Stage stage;
    std::int32_t error;
};
static_assert(sizeof(StartFailure) <= 512);  // PIPE_BUF: written at once or not at all

Result<std::pair<UniqueFd, UniqueFd>> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0) return protocol::fail(Failure::from_errno("pipe", errno));
    return std::pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<void> make_nonblocking(const UniqueFd& fd) {
    // Only the parent's end: the flag belongs to the open file, and each end of a pipe is one.
    if (::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK) < 0) {
        return protocol::fail(Failure::from_errno("fcntl", errno));
    }
    return {};
}

// The child's view of a plan: pointers into it, made before the clone because the child must not
// allocate.
class ChildPlan {
  public:
    explicit ChildPlan(const SpawnPlan& plan)
        : plan_(plan),
          arguments_(pointers(plan.arguments)),
          environment_(pointers(plan.environment)) {
        programs_ = pointers(plan.programs);
        about_directory_ = "capsule: " + protocol::escape_foreign(plan.directory) + ": ";
        about_program_ = "capsule: " + protocol::escape_foreign(plan.program_name) + ": ";
    }

    UniqueFd input, output, error, status;  // the child's ends; `error` empty: same as output

    // In the child. Never returns.
    [[noreturn]] void run() const {
        if (::setsid() < 0) fail(Stage::session);
        if (plan_.input == InputSource::terminal && ::ioctl(output.get(), TIOCSCTTY, 0) < 0) {
            fail(Stage::session);
        }
        place_descriptors();
        reset_limits();
        become_user();
        enter_directory();
        execute();
    }

  private:
    static std::vector<char*> pointers(const std::vector<std::string>& strings) {
        std::vector<char*> list;
        list.reserve(strings.size() + 1);
        // execve(2) takes char* for historical reasons and does not write through them.
        for (const auto& text : strings) list.push_back(const_cast<char*>(text.c_str()));
        list.push_back(nullptr);
        return list;
    }

    [[noreturn]] void fail(Stage stage) const { fail(stage, errno); }
    [[noreturn]] void fail(Stage stage, int number) const {
        const StartFailure failure{stage, number};
        [[maybe_unused]] const auto written = ::write(status.get(), &failure, sizeof failure);
        put(about(stage));
        put(text_of(number));
        put("\n");
        ::_exit(stage == Stage::execute && number == ENOENT ? not_found : cannot_execute);
    }

    void place_descriptors() const {
        // The parent's descriptors are all above 2 (main makes sure of it), so no source is
        // overwritten.
        if (::dup2(input.get(), 0) < 0 || ::dup2(output.get(), 1) < 0 ||
            ::dup2(error_end(), 2) < 0) {
            fail(Stage::descriptors);
        }
        if (::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC_FLAG) < 0)
            fail(Stage::descriptors);
    }

    void reset_limits() const {
        // The agent is the last victim of the OOM killer, has many descriptors and a policy of its
        // own; its children must not inherit any of it. Failures leave a stricter or equal state,
        // so they are not fatal.
        const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
        if (score >= 0) [[maybe_unused]]
            const auto written = ::write(score, "0", 1);
        const struct rlimit files { 1'024, 524'288 };
        ::setrlimit(RLIMIT_NOFILE, &files);
        const struct sched_param standard {};
        ::sched_setscheduler(0, SCHED_OTHER, &standard);
    }

    void become_user() const {
        ::umask(022);
        // Skipped where nothing would change, so that the agent's tests can run without root.
        if (::getuid() == 0 || ::getuid() != plan_.uid) {
            // Raw system calls: glibc's wrappers would try to signal other threads.
            if (::syscall(SYS_setgroups, plan_.groups.size(), plan_.groups.data()) < 0 ||
                ::syscall(SYS_setresgid, plan_.gid, plan_.gid, plan_.gid) < 0 ||
                ::syscall(SYS_setresuid, plan_.uid, plan_.uid, plan_.uid) < 0) {
                fail(Stage::identity);
            }
        }
        struct sigaction standard {};
        standard.sa_handler = SIG_DFL;
        ::sigaction(SIGPIPE, &standard,
                    nullptr);  // ignored by the agent; handlers are gone already
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
    }

    void enter_directory() const {
        if (::chdir(plan_.directory.c_str()) == 0) return;
        const int number = errno;
        if (plan_.directory_required) fail(Stage::directory, number);
        if (::chdir("/") < 0) fail(Stage::directory);
        put(about_directory_.c_str());
        put(text_of(number));
        put("; starting in /\n");
    }

    [[noreturn]] void execute() const {
        // As execvp(3): go on over what is not there, remember that something was there but not
        // allowed.
        int number = ENOENT;
        for (std::size_t i = 0; programs_[i] != nullptr; ++i) {
            ::execve(programs_[i], arguments_.data(), environment_.data());
            if (errno == EACCES) {
                number = EACCES;
            } else if (errno != ENOENT && errno != ENOTDIR) {
                fail(Stage::execute);
            }
        }
        fail(Stage::execute, number);
    }

    static const char* text_of(int number) {
        const char* text = ::strerrordesc_np(number);  // a table look-up, unlike strerror
        return text == nullptr ? "error" : text;
    }
    const char* about(Stage stage) const {
        switch (stage) {
            case Stage::session:
                return "capsule: cannot make a session: ";
            case Stage::descriptors:
                return "capsule: cannot place the descriptors: ";
            case Stage::identity:
                return "capsule: cannot become the user: ";
            case Stage::directory:
                return about_directory_.c_str();
            case Stage::execute:
                return about_program_.c_str();
        }
        return "";
    }
    int error_end() const { return error ? error.get() : output.get(); }
    // To the command's error output, like any other message about it.
    void put(const char* text) const {
        [[maybe_unused]] const auto written = ::write(error_end(), text, std::strlen(text));
    }

    static constexpr unsigned CLOSE_RANGE_CLOEXEC_FLAG = 1U << 2;

    const SpawnPlan& plan_;
    std::vector<char*> programs_, arguments_, environment_;
    std::string about_directory_, about_program_;
};

// fork() with the cgroup given at birth: moving a process afterwards waits for an RCU grace period
// and would let it escape its limits for a moment. Not vfork(): that stops the agent until the
// child executes, and a child born among a fork bomb's thousands may not get the processor for a
// minute. Returns a pid, 0 in the child, or -1.
pid_t fork_into(int cgroup) {
    struct clone_args arguments {};
    arguments.flags = CLONE_CLEAR_SIGHAND;
    arguments.exit_signal = SIGCHLD;
    if (cgroup >= 0) {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = static_cast<std::uint64_t>(cgroup);
    }
    return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

Result<void> connect_pipes(const SpawnPlan& plan, ChildPlan& child, SpawnedProcess& process) {
    TRY(auto output, make_pipe());
    TRY(auto error, make_pipe());
    process.output = std::move(output.first);
    process.error = std::move(error.first);
    child.output = std::move(output.second);
    child.error = std::move(error.second);
    // So that the user may open /dev/stdout and /dev/stderr again: a pipe belongs to who made it.
    if (::fchown(child.output.get(), plan.uid, plan.gid) < 0 ||
        ::fchown(child.error.get(), plan.uid, plan.gid) < 0) {
        return protocol::fail(Failure::from_errno("fchown", errno));
    }
    if (plan.input == InputSource::pipe) {
        TRY(auto input, make_pipe());
        child.input = std::move(input.first);
        process.input = std::move(input.second);
        if (::fchown(child.input.get(), plan.uid, plan.gid) < 0) {
            return protocol::fail(Failure::from_errno("fchown", errno));
        }
        TRY_VOID(make_nonblocking(process.input));
    } else {
        child.input.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        if (!child.input) return protocol::fail(Failure::from_errno("open /dev/null", errno));
    }
    TRY_VOID(make_nonblocking(process.output));
    return make_nonblocking(process.error);
}

Result<void> connect_terminal(const SpawnPlan& plan, ChildPlan& child, SpawnedProcess& process) {
    TRY(Terminal terminal, open_terminal(plan.terminal, plan.uid));
    child.input.reset(::fcntl(terminal.slave.get(), F_DUPFD_CLOEXEC, 3));
    child.output = std::move(terminal.slave);
    process.input.reset(::fcntl(terminal.master.get(), F_DUPFD_CLOEXEC, 3));
    process.output = std::move(terminal.master);
    if (!child.input || !process.input) return protocol::fail(Failure::from_errno("dup", errno));
    return {};
}

}  // namespace

Result<SpawnedProcess> spawn(const SpawnPlan& plan, int cgroup) {
    ChildPlan child(plan);
    SpawnedProcess process;
    if (plan.input == InputSource::terminal) {
        TRY_VOID(connect_terminal(plan, child, process));
    } else {
        TRY_VOID(connect_pipes(plan, child, process));
    }
    TRY(auto status, make_pipe());
    process.status = std::move(status.first);
    child.status = std::move(status.second);
    TRY_VOID(make_nonblocking(process.status));

    // What arrives before the child has its own handling waits for that.
    sigset_t all, before;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before);
    process.pid = fork_into(cgroup);
    if (process.pid == 0) child.run();
    const int number = errno;
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    if (process.pid < 0) return protocol::fail(Failure::from_errno("start a process", number));
    return process;
}

std::optional<Verdict> start_failure(const SpawnPlan& plan, int status) {
    StartFailure failure{};
    if (::read(status, &failure, sizeof failure) != sizeof failure) return std::nullopt;
    const char* text = ::strerrordesc_np(failure.error);
    const bool at_directory = failure.stage == Stage::directory;
    Verdict verdict;
    verdict.kind = "failedToStart";
    const bool missing = failure.stage == Stage::execute && failure.error == ENOENT;
    verdict.code = missing ? not_found : cannot_execute;
    verdict.message = protocol::escape_foreign(at_directory ? plan.directory : plan.program_name) +
                      ": " + (text == nullptr ? "error" : text);
    return verdict;
}

}  // namespace guest_agent
