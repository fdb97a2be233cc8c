#include "host/storage/vfs_files.hpp"

#include "host/storage/beneath.hpp"
#include "host/storage/guest_owner.hpp"
#include "host/storage/os_failure.hpp"
#include "host/storage/remove_tree.hpp"
#include "host/storage/vfs_path.hpp"
#include "host/storage/vfs_writer_state.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>

namespace host::storage {
namespace {

using protocol::Failure;
using protocol::Kind;
using protocol::UniqueFd;

// Entries of one folder that a listing holds in memory.
constexpr std::size_t entries_limit = 200'000;

VfsEntry::Type type_of(mode_t mode) {
    if (S_ISREG(mode)) return VfsEntry::Type::file;
    if (S_ISDIR(mode)) return VfsEntry::Type::folder;
    if (S_ISLNK(mode)) return VfsEntry::Type::link;
    return VfsEntry::Type::other;
}

VfsEntry entry_of(std::string name, const struct stat& status) {
    VfsEntry entry;
    entry.name = std::move(name);
    entry.type = type_of(status.st_mode);
    entry.size = static_cast<std::uint64_t>(status.st_size);
    entry.mode = status.st_mode & 07777;
    entry.modified_unix_ms = status.st_mtim.tv_sec * 1'000 + status.st_mtim.tv_nsec / 1'000'000;
    return entry;
}

Failure not_a_file(const VfsPath& path) {
    return Failure::with_code(Kind::conflict, "not-a-file",
                              path.shown() + " is not a regular file");
}

// openat2 says EXDEV for mounts and ELOOP for links; both are somebody's trick as far as a client
// goes.
Failure refusal(const VfsPath& path) {
    if (errno == EXDEV) {
        return Failure::with_code(Kind::conflict, "is-a-link",
                                  path.shown() + " leads out of the VFS");
    }
    return os_failure(path.shown(), errno);
}

Result<UniqueFd> open_folder(const UniqueFd& root, const VfsPath& path,
                             const std::string& relative) {
    UniqueFd folder(open_beneath(root.get(), relative, O_RDONLY | O_DIRECTORY));
    if (folder) return folder;
    // O_DIRECTORY wins over O_NOFOLLOW in the kernel's answer; look again to name a link as one.
    if (errno == ENOTDIR) {
        struct stat status {};
        const UniqueFd found(open_beneath(root.get(), relative, O_PATH));
        if (found && fstat(found.get(), &status) == 0 && S_ISLNK(status.st_mode))
            errno = ELOOP;
        else
            errno = ENOTDIR;
    }
    return protocol::fail(refusal(path));
}

// Opens the folder `parts[0..count)`, making what is missing.
Result<UniqueFd> make_folders(const UniqueFd& root, const VfsPath& path, std::size_t count) {
    UniqueFd folder(open_beneath(root.get(), ".", O_RDONLY | O_DIRECTORY));
    if (!folder) return protocol::fail(refusal(path));
    for (std::size_t i = 0; i < count; ++i) {
        const std::string& name = path.parts()[i];
        const bool made = mkdirat(folder.get(), name.c_str(), folder_mode) == 0;
        if (!made && errno != EEXIST) return protocol::fail(refusal(path));
        TRY(UniqueFd next, open_folder(folder, path, name));
        // By descriptor: whatever stands under that name meanwhile, only what was opened is
        // changed.
        if (made && (fchown(next.get(), guest_uid, guest_gid) != 0 ||
                     fchmod(next.get(), folder_mode) != 0)) {
            return protocol::fail(refusal(path));
        }
        folder = std::move(next);
    }
    return folder;
}

Result<VfsPath> parse_below_root(std::string_view text) {
    TRY(auto path, VfsPath::parse(text));
    if (path.is_root())
        return protocol::fail(Kind::invalid_argument, "the root of a VFS cannot be changed");
    return path;
}

}  // namespace

VfsFiles::VfsFiles(UniqueFd root) : root_(std::move(root)) {}

Result<VfsFiles> VfsFiles::open(const std::string& folder) {
    UniqueFd root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!root) return protocol::fail(os_failure("opening a VFS", errno));
    return VfsFiles(std::move(root));
}

Result<VfsEntry> VfsFiles::stat(std::string_view text) const {
    TRY(const auto path, VfsPath::parse(text));
    struct stat status {};
    const UniqueFd found(open_beneath(root_.get(), path.relative(), O_PATH));
    if (!found || fstat(found.get(), &status) != 0) return protocol::fail(refusal(path));
    return entry_of(path.is_root() ? "" : path.name(), status);
}

Result<std::vector<VfsEntry>> VfsFiles::list(std::string_view text) const {
    TRY(const auto path, VfsPath::parse(text));
    TRY(UniqueFd folder, open_folder(root_, path, path.relative()));
    const int fd = folder.get();
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(fd), closedir);
    if (!stream) return protocol::fail(refusal(path));
    static_cast<void>(folder.release());  // the stream closes it

    std::vector<VfsEntry> entries;
    for (errno = 0; const dirent* entry = readdir(stream.get()); errno = 0) {
        if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
        struct stat status {};
        if (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;  // removed meanwhile
        if (entries.size() == entries_limit) {
            return protocol::fail(Kind::too_large, fmt::format("{} has more than {} entries",
                                                               path.shown(), entries_limit));
        }
        entries.push_back(entry_of(entry->d_name, status));
    }
    if (errno != 0) return protocol::fail(refusal(path));
    std::ranges::sort(entries, {}, &VfsEntry::name);
    return entries;
}

Result<std::pair<UniqueFd, VfsEntry>> VfsFiles::read(std::string_view text) const {
    TRY(const auto path, VfsPath::parse(text));
    // Looked at before it is opened: opening a device that a guest made can already do something.
    const UniqueFd found(open_beneath(root_.get(), path.relative(), O_PATH));
    struct stat status {};
    if (!found || fstat(found.get(), &status) != 0) return protocol::fail(refusal(path));
    if (S_ISLNK(status.st_mode)) return protocol::fail(os_failure(path.shown(), ELOOP));
    if (S_ISDIR(status.st_mode)) return protocol::fail(os_failure(path.shown(), EISDIR));
    if (!S_ISREG(status.st_mode)) return protocol::fail(not_a_file(path));
    // The descriptor pins the inode, so this opens exactly what was looked at.
    UniqueFd file(::open(fmt::format("/proc/self/fd/{}", found.get()).c_str(),
                         O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file) return protocol::fail(refusal(path));
    return std::pair(std::move(file), entry_of(path.is_root() ? "" : path.name(), status));
}

Result<VfsWriter> VfsFiles::write(std::string_view text) const {
    TRY(const auto path, parse_below_root(text));
    TRY(UniqueFd folder, make_folders(root_, path, path.parts().size() - 1));
    return VfsWriter::State::create(std::move(folder), path);
}

Result<void> VfsFiles::make_folder(std::string_view text) const {
    TRY(const auto path, VfsPath::parse(text));
    TRY(const UniqueFd made, make_folders(root_, path, path.parts().size()));
    return {};
}

Result<void> VfsFiles::move(std::string_view from, std::string_view to) const {
    TRY(const auto source, parse_below_root(from));
    TRY(const auto target, parse_below_root(to));
    TRY(const UniqueFd source_folder, open_folder(root_, source, source.parent()));
    TRY(const UniqueFd target_folder, open_folder(root_, target, target.parent()));
    // Moves a link itself; never replaces anything.
    if (renameat2(source_folder.get(), source.name().c_str(), target_folder.get(),
                  target.name().c_str(), RENAME_NOREPLACE) == 0) {
        return {};
    }
    if (errno == EINVAL) {
        return protocol::fail(Kind::invalid_argument, "a folder cannot be moved into itself");
    }
    return protocol::fail(refusal(errno == EEXIST ? target : source));
}

Result<void> VfsFiles::remove(std::string_view text, bool recursive) const {
    TRY(const auto path, parse_below_root(text));
    TRY(const UniqueFd folder, open_folder(root_, path, path.parent()));
    if (unlinkat(folder.get(), path.name().c_str(), 0) == 0) return {};
    if (errno != EISDIR) return protocol::fail(refusal(path));
    if (recursive) return remove_tree(folder.get(), path.name());
    if (unlinkat(folder.get(), path.name().c_str(), AT_REMOVEDIR) == 0) return {};
    return protocol::fail(refusal(path));
}

}  // namespace host::storage
