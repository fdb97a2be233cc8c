#pragma once
// Pseudo-terminals of commands. Sources: ioctl_tty(2) (TIOCGPTPEER), pts(4).

#include "protocol/base/result.hpp"
#include "protocol/base/unique_fd.hpp"
#include "protocol/wire/messages.hpp"

#include <sys/types.h>

namespace guest_agent {

struct Terminal {
    Terminal() = default;
    protocol::UniqueFd master;  // non-blocking
    protocol::UniqueFd slave;
};

// A new terminal of the given size whose slave belongs to `owner` and group tty. io.
protocol::Result<Terminal> open_terminal(const protocol::TerminalSize& size, uid_t owner);
protocol::Result<void> resize_terminal(int master, const protocol::TerminalSize& size);
// The character that means end-of-file on this terminal, '\x04' unless the program changed it.
char end_of_file_character(int master);

}  // namespace guest_agent
