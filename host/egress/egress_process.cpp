#include "host/egress/egress_process.hpp"

#include "host/egress/address_rules.hpp"
#include "host/egress/tunnel_pump.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>

namespace host::egress {

namespace asio = boost::asio;
using protocol::fail;
using protocol::Failure;
using protocol::Kind;
using protocol::UniqueFd;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

constexpr int control_fd = 3;  // in the proxy
constexpr auto first_pause = 100ms;
constexpr auto longest_pause = 5s;
constexpr auto stable_after = 10s;  // a proxy that lived this long is started again at once
constexpr auto retry_full_socket = 5ms;

void report(std::exception_ptr thrown) {
    if (!thrown) return;
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& why) {
        spdlog::error("egress task failed why=\"{}\"", why.what());
    }
}

struct SpawnAttributes {
    SpawnAttributes() {
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawnattr_init(&attributes);
    }
    SpawnAttributes(const SpawnAttributes&) = delete;
    SpawnAttributes& operator=(const SpawnAttributes&) = delete;
    ~SpawnAttributes() {
        ::posix_spawn_file_actions_destroy(&actions);
        ::posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};
};

}  // namespace

EgressProcess::EgressProcess(asio::any_io_executor executor, EgressOptions options)
    : executor_(executor),
      options_(std::move(options)),
      pause_(executor),
      running_(executor, steady_clock::time_point::max()) {}

Result<std::shared_ptr<EgressProcess>> EgressProcess::start(asio::any_io_executor executor,
                                                            EgressOptions options) {
    for (const std::string& range : options.allowed_ranges) TRY_VOID(AddressRange::parse(range));
    std::shared_ptr<EgressProcess> made(new EgressProcess(executor, std::move(options)));
    asio::co_spawn(executor, made->maintain(), report);
    return made;
}

asio::awaitable<void> EgressProcess::maintain() {
    const auto self = shared_from_this();
    auto pause = std::chrono::milliseconds(first_pause);
    while (!closed_) {
        const auto began = steady_clock::now();
        if (auto spawned = spawn(); spawned) {
            spdlog::info("egress proxy started pid={}", pid_);
            running_.cancel();
            auto watching = watch();
            co_await std::move(watching);
        } else {
            spdlog::error("egress proxy not started why=\"{}\"", spawned.error().describe());
        }
        if (closed_) break;
        if (steady_clock::now() - began >= stable_after) pause = first_pause;
        pause_.expires_after(pause);
        pause = std::min<std::chrono::milliseconds>(pause * 2, longest_pause);
        co_await pause_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    running_.cancel();
}

Result<void> EgressProcess::spawn() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return fail(Failure::from_errno("socketpair", errno));
    }
    UniqueFd ours(ends[0]);
    // dup2 onto itself would leave close-on-exec set.
    UniqueFd theirs(::fcntl(ends[1], F_DUPFD_CLOEXEC, control_fd + 1));
    ::close(ends[1]);
    if (!theirs) return fail(Failure::from_errno("duplicate the control socket", errno));

    std::vector<std::string> words = {
        options_.program, "--control-fd=" + std::to_string(control_fd),
        "--uid=" + std::to_string(options_.uid), "--gid=" + std::to_string(options_.gid)};
    for (const std::string& range : options_.allowed_ranges) words.push_back("--allow=" + range);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    // Nothing of the daemon's environment is the proxy's business.
    char path[] = "PATH=/usr/bin:/bin";
    char locale[] = "LANG=C.UTF-8";
    char* environment[] = {path, locale, nullptr};

    SpawnAttributes spawn;
    ::posix_spawn_file_actions_addopen(&spawn.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&spawn.actions, STDERR_FILENO, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&spawn.actions, theirs.get(), control_fd);
    // Asio's sockets are not close-on-exec.
    ::posix_spawn_file_actions_addclosefrom_np(&spawn.actions, control_fd + 1);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&spawn.attributes, &none);
    ::posix_spawnattr_setsigdefault(&spawn.attributes, &all);
    // Its own session: Ctrl-C in the daemon's terminal is for the daemon.
    ::posix_spawnattr_setflags(&spawn.attributes,
                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    pid_t pid = 0;
    if (const int error = ::posix_spawn(&pid, options_.program.c_str(), &spawn.actions,
                                        &spawn.attributes, arguments.data(), environment);
        error != 0) {
        return fail(Failure::from_errno("start " + options_.program, error));
    }
    pid_ = pid;
    // Our own child, not yet waited for, so the pid cannot be another's. No wrapper in this libc.
    UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process) {
        const int error = errno;
        ::kill(pid, SIGKILL);
        reap();
        return fail(Failure::from_errno("pidfd_open", error));
    }
    ::fcntl(process.get(), F_SETFD, FD_CLOEXEC);
    process_.emplace(executor_, process.release());
    control_ = std::move(ours);
    return {};
}

asio::awaitable<void> EgressProcess::watch() {
    co_await process_->async_wait(asio::posix::descriptor_base::wait_read,
                                  asio::as_tuple(asio::use_awaitable));
    // Also after close(): the closed control socket ends it, and it is not left as a zombie.
    control_.reset();
    reap();
    process_.reset();
}

void EgressProcess::reap() {
    int status = 0;
    const pid_t pid = std::exchange(pid_, 0);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (closed_) return;
    spdlog::warn("egress proxy ended code={} signal={}",
                 WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                 WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

void EgressProcess::close() {
    if (std::exchange(closed_, true)) return;
    control_.reset();
    pause_.cancel();
    running_.cancel();
}

void EgressProcess::tunnel(const protocol::RunId& run, const Policy& policy,
                           std::shared_ptr<sandbox::TunnelStream> stream) {
    Handover handover;
    handover.run = run.str();
    handover.policy = policy;
    asio::co_spawn(executor_, hand_over(encode(handover), std::move(stream)), report);
}

asio::awaitable<Result<UniqueFd>> EgressProcess::offer(std::string text) {
    const auto deadline = steady_clock::now() + options_.patience;
    asio::steady_timer timer(executor_);
    Failure why(Kind::unavailable, "it is not running");
    while (!closed_ && steady_clock::now() < deadline) {
        if (!control_) {
            timer.expires_at(deadline);
            timer.async_wait([self = shared_from_this()](boost::system::error_code error) {
                if (!error) self->running_.cancel();  // wakes us; others look again
            });
            co_await running_.async_wait(asio::as_tuple(asio::use_awaitable));
            timer.cancel();
            continue;
        }
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
            co_return fail(Failure::from_errno("socketpair", errno));
        }
        UniqueFd ours(ends[0]);
        const UniqueFd theirs(ends[1]);
        auto sent = send_with_fd(control_.get(), text, theirs.get());
        if (sent) co_return ours;
        why = std::move(sent).error();
        if (why.kind() == Kind::too_large) break;
        // Full, or it has just died and its end is about to be noticed.
        timer.expires_after(retry_full_socket);
        co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    co_return fail(std::move(why));
}

asio::awaitable<void> EgressProcess::hand_over(std::string text,
                                               std::shared_ptr<sandbox::TunnelStream> stream) {
    const auto self = shared_from_this();
    auto offering = offer(std::move(text));
    auto socket = co_await std::move(offering);
    if (socket) {
        auto pumping = pump_tunnel(executor_, std::move(*socket), std::move(stream));
        co_await std::move(pumping);
        co_return;
    }
    spdlog::warn("egress connection not handed over why=\"{}\"", socket.error().describe());
    std::string answer =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
        "The host's proxy is not available: " +
        socket.error().message() + "\n";
    auto writing = stream->write(std::move(answer));
    const auto written = co_await std::move(writing);
    static_cast<void>(written);
    stream->shutdown_write();
    // Until the guest has seen it: closing at once would drop what it has not read.
    for (;;) {
        auto reading = stream->read();
        const auto read = co_await std::move(reading);
        if (!read || read->empty()) break;
    }
    stream->close();
}

}  // namespace host::egress
