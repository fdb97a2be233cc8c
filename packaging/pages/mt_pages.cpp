// mt-pages FOLDER: writes the manual page mt.1 and the completion for bash, mt.bash, from the table
// of commands that `mt --help` shows.

#include "packaging/pages/roff.hpp"
#include "packaging/pages/write_file.hpp"
#include "sdk/mt/arguments.hpp"
#include "sdk/mt/help.hpp"

#include <map>
#include <vector>

namespace {

using mt::CommandSpec;
using mt::Option;
using pages::roff_bold;
using pages::roff_lines;
using pages::roff_text;

std::string manual_of(const CommandSpec& spec) {
    std::string out = ".SS " + roff_text("mt " + mt::title_of(spec)) + "\n";
    out += roff_bold(mt::usage_line(spec)) + "\n.PP\n";
    std::string summary(spec.summary);
    summary[0] = static_cast<char>(summary[0] & ~0x20);  // an ASCII capital
    out += roff_text(summary) + ".\n";
    if (!spec.details.empty()) out += roff_text(spec.details) + "\n";
    for (const Option& option : mt::options_of(spec)) {
        const std::string title = mt::option_title(option);
        out += ".TP\n" + roff_bold(title.substr(title.find_first_not_of(' '))) + "\n";
        out += roff_text(option.help) + (option.repeatable ? " (may be repeated)" : "") + "\n";
    }
    return out;
}

std::string manual() {
    std::string out = pages::roff_title("MT", "1");
    out += ".SH NAME\nmt \\- run commands in throwaway Linux machines\n";
    out += ".SH SYNOPSIS\n" + roff_bold("mt NOUN VERB [OPTIONS]") + "\n";
    out += ".SH DESCRIPTION\n" +
           roff_text(
               "Talks to `capsuled`, which runs commands in throwaway Linux machines: what a "
               "machine is like says a definition, called a capsule; each started one is a "
               "run. `mt NOUN-VERB` is the same as `mt NOUN VERB`.") +
           "\n.SH COMMANDS\n";
    for (const CommandSpec& spec : mt::command_table()) out += manual_of(spec);
    out += ".SH ENVIRONMENT\n" + roff_lines(mt::environment_help());
    out += ".SH EXIT STATUS\n" + roff_lines(mt::exit_code_help());
    return out + ".SH SEE ALSO\n" + roff_bold("capsuled") + "(8)\n";
}

// NAME=( ["key"]="words" ... ), global: bash-completion loads the file inside of a function.
std::string word_table(const std::string& name, const std::map<std::string, std::string>& table) {
    std::string out = "declare -gA " + name + "=(\n";
    for (const auto& [key, words] : table) out += "    [\"" + key + "\"]=\"" + words + "\"\n";
    return out + ")\n";
}

void append_word(std::string& list, std::string_view word) {
    if (!list.empty()) list += ' ';
    list += word;
}

// Completes nouns, verbs and options; everything else is a file name or nothing.
constexpr std::string_view completion_function = R"(_mt() {
    local current=${COMP_WORDS[COMP_CWORD]} noun=${COMP_WORDS[1]} command candidates="" i
    COMPREPLY=()
    # What follows -- is a command line of the capsule's.
    for ((i = 1; i < COMP_CWORD; ++i)); do
        [ "${COMP_WORDS[i]}" != -- ] || return 0
    done
    command=$noun
    [ -z "${_mt_verbs[$noun]-}" ] || command="$noun ${COMP_WORDS[2]-}"
    if [ "$COMP_CWORD" -eq 1 ]; then
        candidates=$_mt_nouns
    elif [ "$COMP_CWORD" -eq 2 ] && [ -n "${_mt_verbs[$noun]-}" ]; then
        candidates=${_mt_verbs[$noun]}
    elif [[ $current == -* ]]; then
        candidates=${_mt_options[$command]-}
    fi
    mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$current")
}
complete -o default -F _mt mt
)";

std::string completion() {
    std::string nouns;
    std::map<std::string, std::string> verbs, options;
    std::string_view last;
    for (const CommandSpec& spec : mt::command_table()) {
        if (spec.noun != last) append_word(nouns, spec.noun);
        last = spec.noun;
        if (!spec.verb.empty()) append_word(verbs[std::string(spec.noun)], spec.verb);
        std::string& list = options[mt::title_of(spec)];
        for (const Option& option : mt::options_of(spec)) {
            append_word(list, "--" + std::string(option.name));
        }
    }
    std::string out =
        "# shellcheck shell=bash\n"
        "# Completion of mt for bash; made from mt's own table of commands.\n";
    out += "_mt_nouns=\"" + nouns + "\"\n";
    out += word_table("_mt_verbs", verbs) + word_table("_mt_options", options);
    return out.append(completion_function);
}

}  // namespace

int main(int count, char** words) {
    if (count != 2) {
        std::cerr << "Usage: mt-pages FOLDER\n";
        return 2;
    }
    const std::string folder(words[1]);
    pages::write_file(folder + "/mt.1", manual());
    pages::write_file(folder + "/mt.bash", completion());
    return 0;
}
