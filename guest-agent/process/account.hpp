#pragma once
// Accounts of the machine: /etc/passwd and /etc/group, read anew for each command (a recipe may add
// users at any time) and parsed here, because a static program has no name service. Only files
// count: a capsule has no directory service. Parsing is pure and bounded; broken lines are skipped
// as glibc's files backend does. Source: passwd(5), group(5).

#include "protocol/base/result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace guest_agent {

struct Account {
    Account() = default;
    std::string name;
    uid_t uid{};
    gid_t gid{};
    std::vector<gid_t> groups;  // supplementary ones, the primary one included
    std::string home;
    std::string shell;
};

// The user whom commands run as by default, in every image.
inline constexpr uid_t default_user = 1000;
// Root counts as the default user: it could become it anyway.
inline constexpr bool may_use_api(uid_t user) {
    return user == default_user || user == 0;
}

// The account called `name`, or nullopt.
std::optional<Account> find_account(std::string_view passwd, std::string_view group,
                                    std::string_view name);

// Reads both files below `root` ("" in a running machine) and looks `name` up. not_found names the
// user; io when /etc/passwd cannot be read.
protocol::Result<Account> read_account(const std::string& root, const std::string& name);

}  // namespace guest_agent
