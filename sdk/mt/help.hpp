#pragma once
// Help texts made from the command table. Pure.

#include "sdk/mt/command_table.hpp"

#include <string>

namespace mt {

std::string usage_line(const CommandSpec& spec);
std::string help_overview();
std::string help_noun(std::string_view noun);
std::string help_command(const CommandSpec& spec);
// docs/cli.md; a test compares the two.
std::string help_markdown();

// Parts of them, for the manual page and the completion.
std::string_view environment_help();
std::string_view exit_code_help();
std::vector<Option> options_of(const CommandSpec& spec);
std::string option_title(const Option& option);

}  // namespace mt
