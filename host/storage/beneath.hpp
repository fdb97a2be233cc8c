#pragma once
// openat2(2) as this folder uses it: resolution that cannot leave the starting folder.

#include "protocol/base/unique_fd.hpp"

#include <string>

namespace host::storage {

// Opens `path` (relative, "." for the folder itself) below `folder` without following any link,
// magic link or mount. Empty on failure, with errno: ELOOP for a link, EXDEV for a mount or an
// escape. Close-on-exec.
protocol::UniqueFd open_beneath(int folder, const std::string& path, int flags, unsigned mode = 0);

}  // namespace host::storage
