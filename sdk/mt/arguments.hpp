#pragma once
// Arguments: a command line taken apart by the command table. Pure.

#include "sdk/mt/command_table.hpp"

#include <map>
#include <string>
#include <vector>

namespace mt {

class Arguments {
  public:
    // `words`: argv without the program's name. "NOUN VERB" and "NOUN-VERB" are the same; options
    // may stand anywhere before "--" or, for commands that take a rest, before its first word.
    // invalid_argument with what is wrong. --help yields the help command with the words as its
    // topic.
    static Result<Arguments> parse(const std::vector<std::string>& words);

    const CommandSpec& spec() const { return *spec_; }
    // "" when it was not given.
    const std::string& positional(std::size_t index) const;
    const std::vector<std::string>& rest() const { return rest_; }
    bool has(std::string_view option) const { return options_.contains(option); }
    // The last value given, or "".
    std::string value(std::string_view option) const;
    std::vector<std::string> values(std::string_view option) const;

  private:
    Result<void> take(const std::vector<std::string>& words, std::size_t next);
    Result<std::size_t> take_option(const std::vector<std::string>& words, std::size_t at);

    const CommandSpec* spec_ = nullptr;
    std::vector<std::string> positionals_, rest_;
    std::map<std::string, std::vector<std::string>, std::less<>> options_;
};

// The commands of a noun; empty when there is no such noun.
std::vector<const CommandSpec*> commands_of(std::string_view noun);
// "vfs put", "exec"
std::string title_of(const CommandSpec& spec);
const CommandSpec* find_command(std::string_view noun, std::string_view verb);

}  // namespace mt
