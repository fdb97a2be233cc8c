#include "host/storage/vfs_folders.hpp"

#include "host/storage/guest_owner.hpp"
#include "host/storage/os_failure.hpp"
#include "host/storage/remove_tree.hpp"
#include "protocol/base/unique_fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace host::storage {

using protocol::Result;
using protocol::UniqueFd;

Result<void> VfsFolders::prepare() {
    if (mkdir(root_.c_str(), 0700) != 0 && errno != EEXIST) {
        return protocol::fail(os_failure("making " + root_, errno));
    }
    const UniqueFd root(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    // 0700 is what keeps a set-uid file that a guest planted from the users of the host.
    if (!root || fchown(root.get(), geteuid(), getegid()) != 0 || fchmod(root.get(), 0700) != 0) {
        return protocol::fail(os_failure("preparing " + root_, errno));
    }
    return {};
}

std::string VfsFolders::path(const std::string& folder) const {
    return root_ + "/" + folder;
}

Result<void> VfsFolders::create(const std::string& folder) {
    if (mkdir(path(folder).c_str(), 0700) != 0) {
        return protocol::fail(os_failure("making " + path(folder), errno));
    }
    const UniqueFd made(
        open(path(folder).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!made) return protocol::fail(os_failure("opening " + path(folder), errno));
    return own_vfs_root(made.get());
}

Result<void> VfsFolders::remove(const std::string& folder) {
    const UniqueFd root(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!root) {
        if (errno == ENOENT) return {};
        return protocol::fail(os_failure("opening " + root_, errno));
    }
    return remove_tree(root.get(), folder);
}

}  // namespace host::storage
