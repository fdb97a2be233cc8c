#include "guest-agent/process/reaper.hpp"

#include <cerrno>
#include <csignal>
#include <sys/wait.h>
#include <utility>

#include <boost/asio/post.hpp>

namespace guest_agent {
namespace {
// Each may bring a command's end, for which all that its pipes hold is read.
constexpr int reaped_at_once = 16;
}  // namespace

Reaper::Reaper(boost::asio::any_io_executor executor) : signals_(executor, SIGCHLD) {}

void Reaper::start() {
    wait_for_signal();
    reap();  // what ended before anybody listened
}

void Reaper::watch(pid_t pid, Callback callback) {
    watched_[pid] = std::move(callback);
}

void Reaper::wait_for_signal() {
    signals_.async_wait([this](const boost::system::error_code& error, int) {
        if (error) return;
        reap();
        wait_for_signal();
    });
}

void Reaper::reap() {
    // Bounded: a fork bomb ends processes faster than they can be waited for, and others want
    // answers.
    for (int turn = 0; turn < reaped_at_once;) {
        siginfo_t info{};
        if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0) {
            if (errno == EINTR) continue;
            return;  // ECHILD: no children at all
        }
        if (info.si_pid == 0) return;
        ++turn;
        const auto found = watched_.extract(info.si_pid);
        // A stranger: an orphan that became ours when its parent ended.
        if (found.empty()) continue;
        found.mapped()(info.si_code != CLD_EXITED, info.si_status);
    }
    boost::asio::post(signals_.get_executor(), [this] { reap(); });
}

}  // namespace guest_agent
