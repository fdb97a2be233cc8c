#include "sdk/mt/exec_terminal.hpp"

#include "sdk/cpp/terminal.hpp"
#include "sdk/mt/exec_follow.hpp"
#include "sdk/mt/signal_trap.hpp"

#include <csignal>
#include <optional>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace mt {
namespace {

using namespace std::chrono_literals;
using protocol::fail;

class RawTerminal {
  public:
    explicit RawTerminal(bool wanted) {
        if (!wanted || ::tcgetattr(STDIN_FILENO, &before_) != 0) return;
        termios raw = before_;
        ::cfmakeraw(&raw);
        active_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
    }
    ~RawTerminal() {
        if (active_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
    }
    RawTerminal(const RawTerminal&) = delete;
    RawTerminal& operator=(const RawTerminal&) = delete;

  private:
    termios before_{};
    bool active_ = false;
};

// SIGWINCH only: the trap for the signals that end mt is SignalTrap.
const sdk::Interrupt& window_changes() {
    static const sdk::Interrupt interrupt;
    return interrupt;
}

void watch_window() {
    window_changes();  // made before the handler needs it
    struct sigaction action {};
    action.sa_handler = [](int) { window_changes().raise(); };
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGWINCH, &action, nullptr);
}

}  // namespace

sdk::TerminalSize current_terminal_size() {
    winsize size{};
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
            return {size.ws_row, size.ws_col};
        }
    }
    return {};
}

Result<int> run_in_terminal(Context& context, const std::string& run, const std::string& command,
                            bool with_input) {
    const SignalTrap trap({SIGINT, SIGTERM, SIGHUP, SIGQUIT});
    watch_window();
    sdk::TerminalPort port;
    port.input_fd = with_input ? STDIN_FILENO : -1;
    port.output = [](std::string_view bytes) { write_all(STDOUT_FILENO, bytes); };
    port.resized = &window_changes();
    port.hang_up = &trap.interrupt();
    port.size = current_terminal_size;

    const sdk::Settings settings = context.settings().woken_by(&trap.interrupt());
    sdk::Client client(settings);
    sdk::TerminalProgress progress;
    std::optional<std::chrono::steady_clock::time_point> lost;
    for (;;) {
        Result<sdk::TerminalEnd> end;
        {
            const RawTerminal raw(with_input);
            end = sdk::run_terminal(settings, run, command, port, progress);
        }
        if (end && end->exit_code) return *end->exit_code;
        if (end && end->hung_up) {
            context.note("the terminal was closed");
            return exit_own_failure;
        }
        const bool over = !end && end.error().code() == "command-ended";
        if (!end && !over && !sdk::is_connection_failure(end.error())) {
            return fail(std::move(end).error());
        }
        // The terminal ended without a result: the command knows more, once the daemon is back.
        const auto now = std::chrono::steady_clock::now();
        if (end || !lost) lost = now;
        auto state = client.reconnecting([&] { return client.command(run, command, 2s); });
        if (!state) return fail(std::move(state).error());
        if (state->has_ended()) return report_ended_command(context, *state);
        if (trap.interrupt().wait(200)) return exit_own_failure;
        if (now - *lost > sdk::reconnect_limit) {
            return end ? fail(protocol::Kind::unavailable, "the terminal was lost")
                       : fail(std::move(end).error());
        }
        context.note("the terminal was lost; connecting again");
    }
}

}  // namespace mt
