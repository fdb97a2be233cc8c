#include "guest-agent/boot/mounting.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/mount.h>

namespace guest_agent {
namespace {

// proc(5): space, tab, newline and backslash in a path are written as \ooo.
std::string unescape(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto octal = [&](std::size_t at) {
            return at < text.size() && text[at] >= '0' && text[at] <= '7';
        };
        if (text[i] == '\\' && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
            out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                     (text[i + 3] - '0'));
            i += 3;
        } else {
            out += text[i];
        }
    }
    return out;
}

std::string_view next_field(std::string_view& line) {
    const auto end = line.find(' ');
    const auto field = line.substr(0, end);
    line = end == std::string_view::npos ? std::string_view{} : line.substr(end + 1);
    return field;
}

}  // namespace

protocol::Result<void> mount_at(const std::string& source, const std::string& target,
                                const std::string& type, unsigned long flags,
                                const std::string& options) {
    if (::mount(source.c_str(), target.c_str(), type.c_str(), flags, options.c_str()) < 0) {
        return protocol::fail(
            protocol::Failure::from_errno("mount " + source + " on " + target, errno));
    }
    return {};
}

std::vector<std::string> mounts_of_type(std::string_view mounts, std::string_view type) {
    std::vector<std::string> found;
    while (!mounts.empty()) {
        const auto end = mounts.find('\n');
        auto line = mounts.substr(0, end);
        mounts = end == std::string_view::npos ? std::string_view{} : mounts.substr(end + 1);
        next_field(line);
        const auto target = next_field(line);
        if (next_field(line) == type) found.push_back(unescape(target));
    }
    std::reverse(found.begin(), found.end());
    return found;
}

}  // namespace guest_agent
