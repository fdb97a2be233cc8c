#include "host/definition/rules.hpp"

#include "host/definition/limits.hpp"
#include "protocol/base/name.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace host::definition {

namespace {

bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}
bool is_decimal(char c) {
    return c >= '0' && c <= '9';
}
bool is_lower_or_digit(char c) {
    return is_lower(c) || is_decimal(c);
}

// Debian's base-passwd (users and groups), what the essential packages add, and ours. useradd
// refuses a name that is a group already, with nothing but an exit status.
constexpr std::array reserved_users = {
    "_apt",       "adm",    "audio", "backup", "bin",     "cdrom",    "crontab",  "daemon",
    "dialout",    "dip",    "disk",  "fax",    "floppy",  "games",    "gnats",    "input",
    "irc",        "kmem",   "kvm",   "list",   "lp",      "mail",     "maitento", "man",
    "messagebus", "netdev", "news",  "nobody", "nogroup", "operator", "plugdev",  "polkitd",
    "proxy",      "render", "root",  "sasl",   "sgx",     "shadow",   "src",      "ssh",
    "sshd",       "staff",  "sudo",  "sync",   "sys",     "tape",     "tty",      "users",
    "utmp",       "uucp",   "video", "voice",  "wheel",   "www-data",
};

// [first][rest]{0,31}
bool is_user_form(std::string_view text) {
    if (text.empty() || text.size() > 32) return false;
    if (!is_lower(text.front()) && text.front() != '_') return false;
    return std::all_of(text.begin() + 1, text.end(),
                       [](char c) { return is_lower_or_digit(c) || c == '-' || c == '_'; });
}

bool is_label(std::string_view text) {
    if (text.empty() || text.size() > 63 || text.front() == '-' || text.back() == '-') return false;
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

bool is_host_name(std::string_view text) {
    if (text.empty() || text.size() > 253) return false;
    while (true) {
        const std::size_t dot = text.find('.');
        const std::string_view label = text.substr(0, dot);
        if (!is_label(label)) return false;
        if (dot == std::string_view::npos)
            return !std::all_of(label.begin(), label.end(), is_decimal);
        text.remove_prefix(dot + 1);
    }
}

}  // namespace

Objection check_name(std::string_view text) {
    if (protocol::is_valid_name(text)) return std::nullopt;
    return "is not a name: names are 1 to 63 of a-z, 0-9 and '-', and do not begin with '-'";
}

Objection check_vfs_mount_name(std::string_view text) {
    if (text == "secrets") return "is reserved: secrets are mounted at /mnt/secrets";
    return check_name(text);
}

bool is_reserved_user(std::string_view text) {
    return text.starts_with("systemd-") ||
           std::ranges::find(reserved_users, text) != reserved_users.end();
}

Objection check_new_user(std::string_view text) {
    if (is_reserved_user(text)) return "is reserved: the system has a user or group of that name";
    if (is_user_form(text) && text.front() != '_') return std::nullopt;
    return "is not a user name: 1 to 32 of a-z, 0-9, '-' and '_', beginning with a letter";
}

Objection check_user(std::string_view text) {
    if (is_user_form(text)) return std::nullopt;
    return "is not a user name";
}

Objection check_package(std::string_view text) {
    const bool known_characters = std::ranges::all_of(
        text, [](char c) { return is_lower_or_digit(c) || c == '+' || c == '-' || c == '.'; });
    if (text.find('=') != std::string_view::npos)
        return "chooses a version, which is not supported";
    if (text.find('/') != std::string_view::npos)
        return "is a path or names a release; write the package's name";
    if (text.size() < 2 || text.size() > 128 || !known_characters ||
        !is_lower_or_digit(text.front())) {
        return "is not a package name: at least 2 of a-z, 0-9, '+', '-' and '.', beginning with a "
               "letter or digit";
    }
    if (text.ends_with('-')) return "ends in '-', which tells apt to remove the package";
    // "g++" is a name of its own; "jq+" is apt's way of saying "install jq".
    if (text.ends_with('+') && !text.ends_with("++")) {
        return "ends in '+', which apt does not read as part of the name";
    }
    return std::nullopt;
}

Objection check_host_pattern(std::string_view text) {
    if (text == "*") return "stands for every host; write network = \"internet\"";
    if (text.find("://") != std::string_view::npos || text.find('/') != std::string_view::npos) {
        return "is a URL; write only the host's name";
    }
    if (text.find(':') != std::string_view::npos) {
        return "has a port or is an address; write only the host's name (ports 80 and 443 are "
               "open)";
    }
    const std::string_view name = text.starts_with("*.") ? text.substr(2) : text;
    if (is_host_name(name)) return std::nullopt;
    return "is not a host name or \"*.suffix\" (addresses cannot be listed; names with other "
           "letters "
           "are written in their xn-- form)";
}

Objection check_variable_name(std::string_view text) {
    const auto is_word = [](char c) {
        return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '_';
    };
    if (text.size() <= 255 && !text.empty() && !is_decimal(text.front()) &&
        std::ranges::all_of(text, is_word)) {
        return std::nullopt;
    }
    return "is not a variable name: letters, digits and '_', not beginning with a digit";
}

Objection check_argument(std::string_view text) {
    if (text.find('\0') == std::string_view::npos) return std::nullopt;
    return "contains a NUL character, which no program can be given";
}

Objection check_working_directory(std::string_view text) {
    if (!text.starts_with('/')) return "is not an absolute path";
    if (text.size() > limits::path_bytes) {
        return "is longer than " + std::to_string(limits::path_bytes) + " bytes";
    }
    return check_argument(text);
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
    if (text.size() < 2 || text.front() == '0') return std::nullopt;
    unsigned shift = 0;
    if (text.back() == 'M') {
        shift = 20;
    } else if (text.back() == 'G') {
        shift = 30;
    } else {
        return std::nullopt;
    }
    text.remove_suffix(1);
    if (!std::ranges::all_of(text, is_decimal) || text.size() > 9) return std::nullopt;
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number << shift;
}

}  // namespace host::definition
