#include "host/storage/guest_owner.hpp"

#include "host/storage/os_failure.hpp"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

namespace host::storage {

protocol::Result<void> own_vfs_root(int folder) {
    // In this order: chown clears set-id bits.
    if (fchown(folder, guest_uid, guest_gid) != 0 || fchmod(folder, vfs_root_mode) != 0) {
        return protocol::fail(os_failure("giving a VFS to its user", errno));
    }
    return {};
}

}  // namespace host::storage
