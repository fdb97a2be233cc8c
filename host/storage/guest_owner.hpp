#pragma once
// The default user of a guest, as the owner of what the host makes inside a VFS.

#include "protocol/base/result.hpp"

#include <sys/types.h>

namespace host::storage {

inline constexpr uid_t guest_uid = 1000;
inline constexpr gid_t guest_gid = 1000;
inline constexpr mode_t vfs_root_mode = 0770;
inline constexpr mode_t folder_mode = 0775;
inline constexpr mode_t file_mode = 0664;

// Sets owner and mode of a VFS's root folder, given as a descriptor.
protocol::Result<void> own_vfs_root(int folder);

}  // namespace host::storage
