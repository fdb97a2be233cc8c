#include "sdk/mt/arguments.hpp"

#include "protocol/base/name.hpp"

#include <algorithm>

namespace mt {
namespace {

using protocol::fail;
using protocol::Kind;

tl::unexpected<protocol::Failure> usage(const std::string& what, const std::string& see) {
    return fail(Kind::invalid_argument,
                what + "; see `mt" + (see.empty() ? "" : " " + see) + " --help`");
}

bool applies(const CommandSpec& spec, const Option& option) {
    if (option.name == "json") return spec.has_json;
    if (option.name == "namespace") return spec.has_namespace;
    return true;
}

const Option* find_option(const CommandSpec& spec, auto matches) {
    for (const Option& option : spec.options) {
        if (matches(option)) return &option;
    }
    for (const Option& option : common_options()) {
        if (matches(option) && applies(spec, option)) return &option;
    }
    return nullptr;
}

}  // namespace

std::vector<const CommandSpec*> commands_of(std::string_view noun) {
    std::vector<const CommandSpec*> found;
    for (const CommandSpec& spec : command_table()) {
        if (spec.noun == noun) found.push_back(&spec);
    }
    return found;
}

const CommandSpec* find_command(std::string_view noun, std::string_view verb) {
    for (const CommandSpec& spec : command_table()) {
        if (spec.noun == noun && spec.verb == verb) return &spec;
    }
    return nullptr;
}

std::string title_of(const CommandSpec& spec) {
    std::string title(spec.noun);
    if (!spec.verb.empty()) title.append(" ").append(spec.verb);
    return title;
}

Result<Arguments> Arguments::parse(const std::vector<std::string>& words) {
    Arguments arguments;
    const auto help_for = [&](std::string_view noun, std::string_view verb) {
        arguments.spec_ = find_command("help", "");
        arguments.positionals_.clear();
        if (!noun.empty()) arguments.positionals_.emplace_back(noun);
        if (!verb.empty()) arguments.positionals_.emplace_back(verb);
        return arguments;
    };
    if (words.empty()) return usage("a command is missing", "");
    std::string noun = words[0];
    if (noun == "--help" || noun == "-h") return help_for("", "");
    if (noun == "--version") noun = "version";

    std::size_t next = 1;
    if (const CommandSpec* alone = find_command(noun, "")) {
        arguments.spec_ = alone;
    } else if (commands_of(noun).empty()) {
        const auto dash = noun.find('-');
        if (dash != std::string::npos) {
            arguments.spec_ = find_command(noun.substr(0, dash), noun.substr(dash + 1));
        }
        if (arguments.spec_ == nullptr) {
            return usage("there is no command '" + protocol::escape_foreign(noun) + "'", "");
        }
    } else {
        if (words.size() < 2) return usage("'" + noun + "' needs a verb", noun);
        if (words[1] == "--help" || words[1] == "-h") return help_for(noun, "");
        arguments.spec_ = find_command(noun, words[1]);
        if (arguments.spec_ == nullptr) {
            return usage("'" + noun + "' has no verb '" + protocol::escape_foreign(words[1]) + "'",
                         noun);
        }
        next = 2;
    }

    TRY_VOID(arguments.take(words, next));
    if (arguments.has("help") && arguments.spec_->noun != "help") {
        const CommandSpec& spec = *arguments.spec_;
        return help_for(spec.noun, spec.verb);
    }
    const CommandSpec& spec = *arguments.spec_;
    for (std::size_t index = 0; index < spec.positionals.size(); ++index) {
        if (spec.positionals[index].required && index >= arguments.positionals_.size()) {
            return usage(std::string(spec.positionals[index].name) + " is missing", title_of(spec));
        }
    }
    if (spec.rest == "COMMAND" && arguments.rest_.empty()) {
        return usage("COMMAND is missing", title_of(spec));
    }
    return arguments;
}

Result<void> Arguments::take(const std::vector<std::string>& words, std::size_t next) {
    bool options_may_come = true;
    for (; next < words.size(); ++next) {
        const std::string& word = words[next];
        const bool full = positionals_.size() == spec_->positionals.size();
        if (options_may_come && word == "--") {
            options_may_come = false;
        } else if (options_may_come && word.size() > 1 && word[0] == '-') {
            TRY(next, take_option(words, next));
        } else if (full && !spec_->rest.empty()) {
            rest_.assign(words.begin() + static_cast<std::ptrdiff_t>(next), words.end());
            return {};
        } else {
            positionals_.push_back(word);
        }
    }
    if (positionals_.size() > spec_->positionals.size() && !has("help")) {
        const std::string& extra = positionals_[spec_->positionals.size()];
        return usage("'" + protocol::escape_foreign(extra) + "' is one word too many",
                     title_of(*spec_));
    }
    return {};
}

// Returns the index of the last word that belongs to the option.
Result<std::size_t> Arguments::take_option(const std::vector<std::string>& words, std::size_t at) {
    const std::string& word = words[at];
    const auto unknown = [&](std::string_view name) {
        return usage("there is no option '" + protocol::escape_foreign(name) + "'",
                     title_of(*spec_));
    };
    const auto add = [&](const Option& option, std::string value) -> Result<void> {
        auto& values = options_[std::string(option.name)];
        if (!values.empty() && !option.repeatable && !option.value.empty()) {
            return usage("--" + std::string(option.name) + " is given twice", title_of(*spec_));
        }
        values.push_back(std::move(value));
        return {};
    };
    const auto value_after = [&](const Option& option) -> Result<std::string> {
        if (at + 1 < words.size()) return words[++at];
        return usage("--" + std::string(option.name) + " needs " + std::string(option.value),
                     title_of(*spec_));
    };

    if (word.starts_with("--")) {
        const auto equals = word.find('=');
        const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
        const Option* option =
            find_option(*spec_, [&](const Option& candidate) { return candidate.name == name; });
        if (option == nullptr) return unknown("--" + name);
        if (option->value.empty()) {
            if (equals != std::string::npos) {
                return usage("--" + name + " takes no value", title_of(*spec_));
            }
            TRY_VOID(add(*option, ""));
        } else if (equals != std::string::npos) {
            TRY_VOID(add(*option, word.substr(equals + 1)));
        } else {
            TRY(std::string value, value_after(*option));
            TRY_VOID(add(*option, std::move(value)));
        }
        return at;
    }

    // A cluster: flags, and at its end an option with its value or before it.
    for (std::size_t index = 1; index < word.size(); ++index) {
        const char letter = word[index];
        const Option* option = find_option(
            *spec_, [&](const Option& candidate) { return candidate.letter == letter; });
        if (option == nullptr) return unknown(std::string("-") + letter);
        if (option->value.empty()) {
            TRY_VOID(add(*option, ""));
            continue;
        }
        if (index + 1 < word.size()) {
            TRY_VOID(add(*option, word.substr(index + 1)));
        } else {
            TRY(std::string value, value_after(*option));
            TRY_VOID(add(*option, std::move(value)));
        }
        break;
    }
    return at;
}

const std::string& Arguments::positional(std::size_t index) const {
    static const std::string none;
    return index < positionals_.size() ? positionals_[index] : none;
}

std::string Arguments::value(std::string_view option) const {
    const auto found = options_.find(option);
    return found == options_.end() || found->second.empty() ? "" : found->second.back();
}

std::vector<std::string> Arguments::values(std::string_view option) const {
    const auto found = options_.find(option);
    return found == options_.end() ? std::vector<std::string>() : found->second;
}

}  // namespace mt
