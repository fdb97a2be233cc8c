#include "guest-agent/process/memory_pressure.hpp"

#include "protocol/base/unique_fd.hpp"

#include <cerrno>
#include <fcntl.h>
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

void MemoryPressure::wait() {
    // The kernel tells by POLLPRI, and by POLLERR for ever when the group is gone.
    trigger_.async_wait(boost::asio::posix::stream_descriptor::wait_error,
                        [this](const boost::system::error_code& error) {
                            if (error) return;
                            stalled_();
                            wait();
                        });
}

}  // namespace guest_agent
