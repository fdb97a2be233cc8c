#include "guest-agent/system/console.hpp"

#include "protocol/base/unique_fd.hpp"

#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace guest_agent {

void say(std::string_view line) {
    // Opened for each line: process 1 must not keep a terminal, and lines are rare. O_NOCTTY, or
    // the first open would make the console the agent's controlling terminal.
    const protocol::UniqueFd console(
        ::open("/dev/console", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    if (!console) return;
    const std::string text = "capsule: " + std::string(line) + "\n";
    // A full or broken console loses the line; there is nowhere else to say so.
    [[maybe_unused]] const auto written = ::write(console.get(), text.data(), text.size());
}

}  // namespace guest_agent
