#pragma once
// Running another program of the host: no shell, nothing inherited, bounded time and output. Used
// for qemu-img here and by host/machine for its probes. Blocking; call from a worker thread.

#include "protocol/base/result.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace host::storage {

struct ProgramRequest {
    ProgramRequest() = default;
    std::vector<std::string> arguments;  // [0] is the program, looked up in a fixed PATH
    std::chrono::milliseconds limit{30'000};
    // Called with all output so far whenever there is more; true: the program is no longer needed
    // and is ended.
    std::function<bool(std::string_view output)> enough;
};

struct ProgramOutcome {
    ProgramOutcome() = default;
    enum class End : std::uint8_t { exited, killed_by_signal, enough, timed_out } end{};
    int code = 0;        // exit code or signal
    std::string output;  // standard output and error together, the first 64 KiB
};

// not_found: no such program. Whatever the outcome, the process is gone when this returns.
protocol::Result<ProgramOutcome> run_program(const ProgramRequest& request);

// For callers that only want success: a failure carries the program's own words.
protocol::Result<std::string> run_program_checked(const ProgramRequest& request);

}  // namespace host::storage
