#pragma once
// `mt exec -t`: the user's terminal becomes the command's. Raw while connected, and given back as
// it was however this ends.

#include "sdk/mt/context.hpp"

namespace mt {

sdk::TerminalSize current_terminal_size();

// Returns the exit code for mt. `with_input`: keys are sent.
Result<int> run_in_terminal(Context& context, const std::string& run, const std::string& command,
                            bool with_input);

}  // namespace mt
