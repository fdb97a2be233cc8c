#pragma once
// Read-only bind mounts for VFS that a run must not write, and finding them again. Needs
// CAP_SYS_ADMIN. libvirt's virtiofs knows no read-only before 11.0, and in the guest it would not
// hold.

#include "protocol/base/result.hpp"

#include <string>
#include <vector>

namespace host::storage {

// Shows the folder behind the descriptor `source` at `target`, an existing folder: read-only, no
// set-uid, no devices. Nothing is left mounted on failure.
protocol::Result<void> bind_read_only(int source, const std::string& target);

// Mount points strictly below `folder`, in the order they were mounted. `mountinfo`: text of
// /proc/self/mountinfo; pure, so that odd names can be tested.
std::vector<std::string> mount_points_below(const std::string& folder,
                                            const std::string& mountinfo);

// Unmounts all of them. Idempotent.
protocol::Result<void> unmount_below(const std::string& folder);

}  // namespace host::storage
