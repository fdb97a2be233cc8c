#include "sdk/mt/help.hpp"

#include "sdk/mt/arguments.hpp"
#include "sdk/mt/context.hpp"
#include "sdk/mt/handlers.hpp"

#include <algorithm>

namespace mt {
namespace {

using protocol::fail;
using protocol::Kind;

constexpr std::size_t page_width = 92;

constexpr std::string_view environment_text =
    "  MAITENTO_URL        where the daemon listens: unix:///path or http://host:port\n"
    "                      (default unix:///run/capsuled/api.sock; set inside capsules)\n"
    "  MAITENTO_API_KEY    bearer key, for a daemon reached over TCP\n"
    "  MAITENTO_NAMESPACE  the namespace to work in (default: default)\n";

constexpr std::string_view exit_code_text =
    "  0    done; for `capsule run`: Finished; for `exec`: the command's own code\n"
    "  1    the answer is no: refused, or a run that did not end Finished\n"
    "  2    the command line or a definition is wrong\n"
    "  3    the thing named does not exist\n"
    "  4    no daemon answers\n"
    "  125  `exec` itself failed, or the run ended before the command\n";

std::string wrap(std::string_view text, std::size_t width) {
    std::string out;
    std::size_t column = 0;
    while (!text.empty()) {
        const auto space = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, space);
        if (column > 0 && column + 1 + word.size() > width) {
            out.push_back('\n');
            column = 0;
        } else if (column > 0) {
            out.push_back(' ');
            ++column;
        }
        out.append(word);
        column += word.size();
        text.remove_prefix(std::min(space + 1, text.size()));
    }
    if (!out.empty()) out.push_back('\n');
    return out;
}

// Two columns, the first as wide as its widest entry.
std::string columns(const std::vector<std::pair<std::string, std::string>>& rows) {
    std::size_t width = 0;
    for (const auto& [left, right] : rows) width = std::max(width, left.size());
    std::string out;
    for (const auto& [left, right] : rows) {
        out.append("  ")
            .append(left)
            .append(width - left.size() + 2, ' ')
            .append(right)
            .append("\n");
    }
    return out;
}

std::string option_rows(const CommandSpec& spec) {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const Option& option : options_of(spec)) {
        std::string help(option.help);
        if (option.repeatable) help += " (may be repeated)";
        rows.emplace_back(option_title(option), std::move(help));
    }
    return columns(rows);
}

}  // namespace

std::string_view environment_help() {
    return environment_text;
}
std::string_view exit_code_help() {
    return exit_code_text;
}

std::string option_title(const Option& option) {
    std::string title = option.letter != 0 ? std::string("-") + option.letter + ", " : "    ";
    title.append("--").append(option.name);
    if (!option.value.empty()) title.append(" ").append(option.value);
    return title;
}

std::vector<Option> options_of(const CommandSpec& spec) {
    std::vector<Option> options = spec.options;
    for (const Option& option : common_options()) {
        if (option.name == "json" && !spec.has_json) continue;
        if (option.name == "namespace" && !spec.has_namespace) continue;
        options.push_back(option);
    }
    return options;
}

std::string usage_line(const CommandSpec& spec) {
    std::string line = "mt " + title_of(spec);
    for (const Positional& positional : spec.positionals) {
        const std::string name(positional.name);
        line += positional.required ? " " + name : " [" + name + "]";
    }
    line += " [OPTIONS]";
    if (spec.rest == "COMMAND") {
        line += " -- COMMAND [ARGUMENT...]";
    } else if (!spec.rest.empty()) {
        line += " [-- " + std::string(spec.rest) + "...]";
    }
    return line;
}

std::string help_overview() {
    std::string out =
        "mt talks to capsuled, which runs commands in throwaway Linux machines.\n\n"
        "Usage: mt NOUN VERB [OPTIONS]   (also mt NOUN-VERB)\n\nCommands:\n";
    std::vector<std::pair<std::string, std::string>> rows;
    for (const CommandSpec& spec : command_table()) {
        rows.emplace_back(title_of(spec), std::string(spec.summary));
    }
    out += columns(rows);
    out += "\n`mt NOUN VERB --help` explains one. --json prints answers as JSON.\n";
    out.append("\nEnvironment:\n").append(environment_text);
    out.append("\nExit codes:\n").append(exit_code_text);
    return out;
}

std::string help_noun(std::string_view noun) {
    std::string out = std::string(noun) + ": " + std::string(noun_summary(noun)) + "\n\n";
    std::vector<std::pair<std::string, std::string>> rows;
    for (const CommandSpec* spec : commands_of(noun)) {
        rows.emplace_back(usage_line(*spec), std::string(spec->summary));
    }
    return out + columns(rows);
}

std::string help_command(const CommandSpec& spec) {
    std::string out = "Usage: " + usage_line(spec) + "\n\n";
    std::string summary(spec.summary);
    if (!summary.empty()) {
        summary[0] = static_cast<char>(summary[0] & ~0x20);  // an ASCII capital
    }
    out += summary + ".\n";
    if (!spec.details.empty()) out += "\n" + wrap(spec.details, page_width);
    return out + "\nOptions:\n" + option_rows(spec);
}

std::string help_markdown() {
    std::string out =
        "# mt, the command line\n\n"
        "Made by `mt help --markdown`; every text is also behind `--help`.\n"
        "`mt NOUN-VERB` is the same as `mt NOUN VERB`.\n\n";
    out.append("## Environment\n\n```\n").append(environment_text).append("```\n\n");
    out.append("## Exit codes\n\n```\n").append(exit_code_text).append("```\n");
    for (const CommandSpec& spec : command_table()) {
        out += "\n## mt " + title_of(spec) + "\n\n```\n" + help_command(spec) + "```\n";
    }
    return out;
}

Result<int> run_help(Context& context) {
    const std::string& noun = context.arguments().positional(0);
    const std::string& verb = context.arguments().positional(1);
    if (context.arguments().has("markdown")) {
        context.print(help_markdown());
        return exit_success;
    }
    if (noun.empty()) {
        context.print(help_overview());
        return exit_success;
    }
    if (const CommandSpec* spec = find_command(noun, verb)) {
        context.print(help_command(*spec));
    } else if (verb.empty() && !commands_of(noun).empty()) {
        context.print(help_noun(noun));
    } else {
        return fail(Kind::invalid_argument, "there is no such command; see `mt --help`");
    }
    return exit_success;
}

}  // namespace mt
