#include "host/storage/beneath.hpp"
#include "host/storage/guest_owner.hpp"
#include "host/storage/os_failure.hpp"
#include "host/storage/vfs_writer_state.hpp"
#include "protocol/base/ids.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace host::storage {
namespace {

using protocol::Failure;
using protocol::Kind;
using protocol::UniqueFd;

// True: a regular file is there. Failure: something that must not be replaced is.
Result<bool> check_target(int folder, const VfsPath& path) {
    struct stat status {};
    if (fstatat(folder, path.name().c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) return false;
        return protocol::fail(os_failure(path.shown(), errno));
    }
    if (S_ISREG(status.st_mode)) return true;
    if (S_ISLNK(status.st_mode)) return protocol::fail(os_failure(path.shown(), ELOOP));
    if (S_ISDIR(status.st_mode)) return protocol::fail(os_failure(path.shown(), EISDIR));
    return protocol::fail(
        Failure::with_code(Kind::conflict, "not-a-file", path.shown() + " is not a regular file"));
}

}  // namespace

Result<VfsWriter> VfsWriter::State::create(UniqueFd folder, const VfsPath& path) {
    TRY_VOID(check_target(folder.get(), path));
    UniqueFd file(open_beneath(folder.get(), ".", O_WRONLY | O_TMPFILE, 0600));
    if (!file && errno == EOPNOTSUPP) {
        return protocol::fail(
            Kind::unsupported,
            "the file system of the state folder cannot make files without a name; "
            "use ext4, xfs, btrfs or tmpfs");
    }
    if (!file || fchown(file.get(), guest_uid, guest_gid) != 0 ||
        fchmod(file.get(), file_mode) != 0) {
        return protocol::fail(os_failure(path.shown(), errno));
    }
    return VfsWriter(std::make_unique<State>(std::move(folder), std::move(file), path));
}

VfsWriter::VfsWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
VfsWriter::VfsWriter(VfsWriter&&) noexcept = default;
VfsWriter& VfsWriter::operator=(VfsWriter&&) noexcept = default;
VfsWriter::~VfsWriter() = default;

Result<void> VfsWriter::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(state_->file.get(), bytes.data(), bytes.size());
        if (count < 0) {
            if (errno == EINTR) continue;
            return protocol::fail(os_failure(state_->path.shown(), errno));
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
}

Result<bool> VfsWriter::commit() {
    const int folder = state_->folder.get();
    const VfsPath& path = state_->path;
    const auto refuse = [&] { return protocol::fail(os_failure(path.shown(), errno)); };
    if (fsync(state_->file.get()) != 0) return refuse();
    TRY(const bool existed, check_target(folder, path));

    // linkat() gives the file its name but replaces nothing; so a name of its own first, then
    // rename.
    const std::string unnamed = fmt::format("/proc/self/fd/{}", state_->file.get());
    const std::string temporary = ".upload-" + protocol::RunId::random().str();
    if (linkat(AT_FDCWD, unnamed.c_str(), folder, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0) {
        return refuse();
    }
    if (renameat(folder, temporary.c_str(), folder, path.name().c_str()) != 0) {
        const int error = errno;
        unlinkat(folder, temporary.c_str(), 0);
        errno = error;
        return refuse();
    }
    if (fsync(folder) != 0) return refuse();
    state_->file.reset();
    return existed;
}

}  // namespace host::storage
