#include "host/storage/bind_mounts.hpp"

#include "host/storage/os_failure.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <ranges>
#include <sstream>
#include <sys/mount.h>

#include <fmt/format.h>

namespace host::storage {
namespace {

using protocol::Result;

// The kernel writes space, tab, line end and backslash as three octal digits
// (proc_pid_mountinfo(5)).
std::string unescaped(const std::string& field) {
    std::string text;
    for (std::size_t i = 0; i < field.size(); ++i) {
        const bool escape = field[i] == '\\' && i + 3 < field.size() &&
                            field.find_first_not_of("01234567", i + 1) >= i + 4;
        if (!escape) {
            text += field[i];
            continue;
        }
        text += static_cast<char>(std::stoi(field.substr(i + 1, 3), nullptr, 8));
        i += 3;
    }
    return text;
}

}  // namespace

Result<void> bind_read_only(int source, const std::string& target) {
    // By descriptor, so that it is exactly the folder that was checked.
    const std::string from = fmt::format("/proc/self/fd/{}", source);
    if (mount(from.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0) {
        return protocol::fail(os_failure("binding a VFS to " + target, errno));
    }
    // A bind ignores the other flags; they need the second call. Nobody uses the mount in between.
    constexpr unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV;
    if (mount(nullptr, target.c_str(), nullptr, flags, nullptr) != 0) {
        const int error = errno;
        umount2(target.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
        return protocol::fail(os_failure("making " + target + " read-only", error));
    }
    return {};
}

std::vector<std::string> mount_points_below(const std::string& folder,
                                            const std::string& mountinfo) {
    std::vector<std::string> found;
    std::istringstream lines(mountinfo);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string id, parent, device, root, point;
        if (!(fields >> id >> parent >> device >> root >> point)) continue;
        point = unescaped(point);
        if (point.starts_with(folder + "/")) found.push_back(std::move(point));
    }
    return found;
}

Result<void> unmount_below(const std::string& folder) {
    std::ifstream input("/proc/self/mountinfo");
    const std::string text{std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
    if (!input) return protocol::fail(protocol::Kind::io, "/proc/self/mountinfo cannot be read");
    const auto points = mount_points_below(folder, text);
    for (const auto& point : points | std::views::reverse) {
        // EINVAL, ENOENT: somebody else was faster.
        if (umount2(point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0 && errno != EINVAL &&
            errno != ENOENT) {
            return protocol::fail(os_failure("unmounting " + point, errno));
        }
    }
    return {};
}

}  // namespace host::storage
