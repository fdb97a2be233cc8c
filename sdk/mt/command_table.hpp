#pragma once
// The one table of mt's commands: parsing, --help, docs/cli.md, man pages and completion are all
// made from it. Plain constant data.

#include "protocol/base/result.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace mt {

using protocol::Result;

class Context;

// What a script can rely on. `mt exec` passes the command's own code on and has 125 for itself.
enum ExitCode : int {
    exit_success = 0,
    exit_negative = 1,  // asked and answered, the answer is no
    exit_usage = 2,     // the command line or a definition is wrong
    exit_not_found = 3,
    exit_unreachable = 4,  // no daemon answers
    exit_own_failure = 125,
};

struct Option {
    char letter = 0;  // 0 = long form only
    std::string_view name;
    std::string_view value;  // what its value is called; "" = a flag
    std::string_view help;
    bool repeatable = false;
};

struct Positional {
    std::string_view name;
    bool required = true;
};

struct CommandSpec {
    std::string_view noun, verb;  // verb "": the noun alone is the command
    std::vector<Positional> positionals;
    // Name of what follows "--" (or the last positional) untouched; "" = nothing may.
    std::string_view rest;
    std::vector<Option> options;
    std::string_view summary;
    std::string_view details;
    Result<int> (*run)(Context&);
    bool has_json = true;
    bool has_namespace = false;
    int failure_code = 0;  // exit code of every own failure; 0: by kind
};

std::span<const CommandSpec> command_table();
std::span<const Option> common_options();  // of every command that has them

// The first text of `mt --help`, and how each noun is introduced.
std::string_view noun_summary(std::string_view noun);

}  // namespace mt
