#include "guest-agent/process/terminal.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

namespace guest_agent {

using protocol::Failure;
using protocol::Result;

namespace {
constexpr gid_t tty_group = 5;  // Debian's static id
}

Result<Terminal> open_terminal(const protocol::TerminalSize& size, uid_t owner) {
    Terminal terminal;
    terminal.master.reset(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
    if (!terminal.master) return protocol::fail(Failure::from_errno("open /dev/ptmx", errno));
    int locked = 0;
    if (::ioctl(terminal.master.get(), TIOCSPTLCK, &locked) < 0) {
        return protocol::fail(Failure::from_errno("unlock a terminal", errno));
    }
    // By descriptor, not by its path in /dev/pts, which the guest could have mounted over.
    terminal.slave.reset(
        ::ioctl(terminal.master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!terminal.slave) return protocol::fail(Failure::from_errno("open a terminal", errno));
    // Only root can give it away; without root it is the caller's own already.
    if (::geteuid() == 0 && (::fchown(terminal.slave.get(), owner, tty_group) < 0 ||
                             ::fchmod(terminal.slave.get(), 0620) < 0)) {
        return protocol::fail(Failure::from_errno("fchown a terminal", errno));
    }
    TRY_VOID(resize_terminal(terminal.master.get(), size));
    return terminal;
}

Result<void> resize_terminal(int master, const protocol::TerminalSize& size) {
    struct winsize window {};
    window.ws_row = size.rows;
    window.ws_col = size.columns;
    if (::ioctl(master, TIOCSWINSZ, &window) < 0) {
        return protocol::fail(Failure::from_errno("resize the terminal", errno));
    }
    return {};
}

char end_of_file_character(int master) {
    struct termios settings {};
    if (::tcgetattr(master, &settings) < 0) return '\x04';
    return static_cast<char>(settings.c_cc[VEOF]);
}

}  // namespace guest_agent
