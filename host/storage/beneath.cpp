#include "host/storage/beneath.hpp"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace host::storage {

protocol::UniqueFd open_beneath(int folder, const std::string& path, int flags, unsigned mode) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
    if ((flags & O_PATH) != 0) how.flags &= ~static_cast<std::uint64_t>(O_NOCTTY);
    how.mode = mode;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
    // EAGAIN: the tree was renamed under the look-up; the kernel asks to try again.
    constexpr int attempts = 16;
    for (int i = 0; i < attempts; ++i) {
        // No wrapper in glibc. `how` is fully initialised; the kernel copies the path.
        const long fd = syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
        if (fd >= 0) return protocol::UniqueFd(static_cast<int>(fd));
        if (errno != EAGAIN && errno != EINTR) break;
    }
    return {};
}

}  // namespace host::storage
