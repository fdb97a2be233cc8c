#pragma once
// mount(2) with a Result that names what was mounted where.

#include "protocol/base/result.hpp"

#include <string>
#include <vector>

namespace guest_agent {

protocol::Result<void> mount_at(const std::string& source, const std::string& target,
                                const std::string& type, unsigned long flags,
                                const std::string& options);

// Where file systems of `type` are mounted, by the text of /proc/self/mounts, the last mounted
// first. Pure.
std::vector<std::string> mounts_of_type(std::string_view mounts, std::string_view type);

}  // namespace guest_agent
