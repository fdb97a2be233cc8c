#include "host/sandbox/process_watch.hpp"

#include "protocol/base/failure.hpp"
#include "protocol/base/unique_fd.hpp"

#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

namespace host::sandbox {

namespace {

class ProcessWatch final : public Alarm {
  public:
    ProcessWatch(boost::asio::any_io_executor executor, std::function<void()> died)
        : state_(std::make_shared<State>(executor, std::move(died))) {}
    ~ProcessWatch() override {
        boost::system::error_code ignored;
        state_->process.close(ignored);
        state_->died = nullptr;
    }

    void start(pid_t pid) {
        // pidfd_open(2) has no wrapper in glibc 2.36; the descriptor is close-on-exec by itself.
        const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
        if (fd < 0) {
            if (errno != ESRCH) {
                spdlog::error("a process cannot be watched pid={} error={}", pid,
                              protocol::Failure::from_errno("pidfd_open", errno).describe());
                return;
            }
            boost::asio::post(state_->process.get_executor(), [state = state_] { state->call(); });
            return;
        }
        state_->process.assign(fd);
        state_->process.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                                   [state = state_](boost::system::error_code error) {
                                       if (!error) state->call();
                                   });
    }

  private:
    struct State {
        State(const boost::asio::any_io_executor& executor, std::function<void()> callback)
            : process(executor), died(std::move(callback)) {}
        void call() {
            if (const auto callback = std::exchange(died, nullptr)) callback();
        }
        boost::asio::posix::stream_descriptor process;
        std::function<void()> died;
    };
    std::shared_ptr<State> state_;
};

}  // namespace

std::unique_ptr<Alarm> watch_process(boost::asio::any_io_executor executor, pid_t pid,
                                     std::function<void()> died) {
    auto watch = std::make_unique<ProcessWatch>(std::move(executor), std::move(died));
    watch->start(pid);
    return watch;
}

}  // namespace host::sandbox
