#pragma once
// Terminal: one command's pseudo-terminal over a WebSocket, as a loop that runs in the calling
// thread. Bytes go both ways as binary messages; a new size as text.

#include "sdk/cpp/connection.hpp"
#include "sdk/cpp/documents.hpp"
#include "sdk/cpp/input_tail.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sdk {

// What must survive a connection, so that another one goes on where it stopped.
struct TerminalProgress {
    TerminalProgress() = default;
    std::uint64_t output_offset = 0;
    InputTail input;
};

struct TerminalPort {
    TerminalPort() = default;
    int input_fd = -1;  // read when readable and never made non-blocking; -1: no input
    std::function<void(std::string_view)> output;
    const Interrupt* resized = nullptr;  // raised when the size has changed
    const Interrupt* hang_up = nullptr;  // raised to leave; the daemon sends SIGHUP
    std::function<TerminalSize()> size;
};

struct TerminalEnd {
    TerminalEnd() = default;
    std::optional<int> exit_code;  // empty: the connection ended first, ask for the command
    bool hung_up = false;
};

// Blocks until the command has ended, the connection is lost (not a failure: exit_code is empty) or
// `hang_up` is raised. Fails when the terminal cannot be opened.
Result<TerminalEnd> run_terminal(const Settings& settings, const std::string& run,
                                 const std::string& command, const TerminalPort& port,
                                 TerminalProgress& progress);

}  // namespace sdk
