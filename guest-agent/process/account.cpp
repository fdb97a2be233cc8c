#include "guest-agent/process/account.hpp"

#include "guest-agent/system/small_file.hpp"
#include "protocol/base/name.hpp"

#include <charconv>

namespace guest_agent {
namespace {

constexpr std::size_t file_limit = 1u << 20;
constexpr std::size_t groups_limit = 1'024;

std::string_view cut(std::string_view& rest, char separator) {
    const auto end = rest.find(separator);
    const auto piece = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    return piece;
}

std::optional<std::vector<std::string_view>> fields(std::string_view line, std::size_t count) {
    std::vector<std::string_view> found;
    std::size_t start = 0;
    while (true) {
        const auto end = line.find(':', start);
        found.push_back(line.substr(start, end - start));
        if (end == std::string_view::npos) break;
        start = end + 1;
    }
    if (found.size() != count) return std::nullopt;
    return found;
}

std::optional<std::uint32_t> number(std::string_view text) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    // (uid_t)-1 means "leave unchanged" to setresuid(2): an account with it would run as root.
    if (value == static_cast<std::uint32_t>(-1)) return std::nullopt;
    return value;
}

bool lists(std::string_view members, std::string_view name) {
    while (!members.empty()) {
        if (cut(members, ',') == name) return true;
    }
    return false;
}

std::optional<Account> parse_passwd_line(std::string_view line, std::string_view name) {
    const auto parts = fields(line, 7);
    if (!parts || (*parts)[0] != name) return std::nullopt;
    const auto uid = number((*parts)[2]);
    const auto gid = number((*parts)[3]);
    if (!uid || !gid) return std::nullopt;
    Account account;
    account.name = name;
    account.uid = *uid;
    account.gid = *gid;
    account.home = (*parts)[5].empty() ? "/" : (*parts)[5];
    account.shell = (*parts)[6].empty() ? "/bin/sh" : (*parts)[6];
    return account;
}

}  // namespace

std::optional<Account> find_account(std::string_view passwd, std::string_view group,
                                    std::string_view name) {
    if (name.empty()) return std::nullopt;
    std::optional<Account> account;
    while (!passwd.empty() && !account) account = parse_passwd_line(cut(passwd, '\n'), name);
    if (!account) return std::nullopt;
    account->groups.push_back(account->gid);
    while (!group.empty() && account->groups.size() < groups_limit) {
        const auto parts = fields(cut(group, '\n'), 4);
        if (!parts || !lists((*parts)[3], name)) continue;
        const auto gid = number((*parts)[2]);
        if (gid && *gid != account->gid) account->groups.push_back(*gid);
    }
    return account;
}

protocol::Result<Account> read_account(const std::string& root, const std::string& name) {
    TRY(const std::string passwd, read_small_file(root + "/etc/passwd", file_limit));
    // Without a group file a user still has the primary group.
    const std::string group = read_small_file(root + "/etc/group", file_limit).value_or("");
    auto account = find_account(passwd, group, name);
    if (!account) {
        return protocol::fail(protocol::Kind::not_found,
                              "user '" + protocol::escape_foreign(name, 64) + "' does not exist");
    }
    return std::move(*account);
}

}  // namespace guest_agent
