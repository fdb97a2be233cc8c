#include "guest-agent/process/memory_pressure.hpp"

#include "protocol/base/unique_fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace guest_agent {
namespace {
// Microseconds in which no process of the group could go on, and the window they are counted in. A
// group that has come to a stop was measured at about half; the rest is the kernel's own work.
constexpr std::string_view trigger = "full 1200000 4000000";
}  // namespace

using protocol::Failure;

MemoryPressure::MemoryPressure(boost::asio::any_io_executor executor, std::function<void()> stalled)
    : trigger_(executor), stalled_(std::move(stalled)) {}

protocol::Result<void> MemoryPressure::watch(const std::string& file) {
    protocol::UniqueFd opened(::open(file.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    // The terminating zero belongs to the text.
    if (!opened || ::write(opened.get(), trigger.data(), trigger.size() + 1) < 0) {
        return protocol::fail(Failure::from_errno("watch " + file, errno));
    }
    trigger_.assign(opened.release());
    wait();
    return {};
}

// The kernel tells a stall by POLLPRI, and by POLLERR, then without end, that the group is gone:
// root in the machine can remove it.
bool MemoryPressure::gone() {
    struct pollfd poll {};
    poll.fd = trigger_.native_handle();
    poll.events = POLLPRI;
    return ::poll(&poll, 1, 0) < 0 || (poll.revents & (POLLERR | POLLNVAL)) != 0;
}

void MemoryPressure::wait() {
    trigger_.async_wait(boost::asio::posix::stream_descriptor::wait_error,
                        [this](const boost::system::error_code& error) {
                            if (error || gone()) return;
                            stalled_();
                            wait();
                        });
}

}  // namespace guest_agent
