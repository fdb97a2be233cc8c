#pragma once
// VfsFiles: the host's own access to the files of one VFS. A guest may have planted anything in
// there: links, devices, fifos, set-uid files, names that are not UTF-8. Nothing here ever leaves
// the folder: every path is resolved with openat2(2) RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
// RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV, only regular files are read or written (opened
// O_NONBLOCK), links are reported as links. All calls block; use a worker pool. Safe to use from
// several threads.

#include "protocol/base/result.hpp"
#include "protocol/base/unique_fd.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace host::storage {

using protocol::Result;

struct VfsEntry {
    VfsEntry() = default;
    std::string name;  // raw bytes as on disk
    enum class Type : std::uint8_t { file, folder, link, other } type{};
    std::uint64_t size = 0;
    std::uint32_t mode = 0;  // permission bits
    std::int64_t modified_unix_ms = 0;
};

// Writes to a temporary name in the target's folder; commit() renames over the target (fsync
// first), so readers see the old or the new content, never half. Destruction without commit leaves
// nothing.
class VfsWriter {
  public:
    VfsWriter(VfsWriter&&) noexcept;
    VfsWriter& operator=(VfsWriter&&) noexcept;
    ~VfsWriter();
    Result<void> write(std::string_view bytes);
    // True: a file of that name existed before.
    Result<bool> commit();

  private:
    friend class VfsFiles;
    struct State;
    explicit VfsWriter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

class VfsFiles {
  public:
    // `folder`: absolute path of the VFS's folder, chosen by us.
    static Result<VfsFiles> open(const std::string& folder);

    // `path`: as a client gives it, "/a/b"; "" and "/" are the root. invalid_argument for "..",
    // NUL, parts over 255 bytes or a path over 4096; not_found; conflict "is-a-link" when a
    // component is a link.
    Result<VfsEntry> stat(std::string_view path) const;
    Result<std::vector<VfsEntry>> list(std::string_view path) const;  // sorted by name bytes
    // A regular file opened for reading, and its entry.
    Result<std::pair<protocol::UniqueFd, VfsEntry>> read(std::string_view path) const;
    // Makes missing parents (1000:1000, 0775); files are 1000:1000, 0664.
    Result<VfsWriter> write(std::string_view path) const;
    Result<void> make_folder(
        std::string_view path) const;  // parents too; an existing folder is success
    Result<void> move(std::string_view from, std::string_view to) const;
    // Never follows a link; `recursive` for folders that are not empty.
    Result<void> remove(std::string_view path, bool recursive) const;

  private:
    explicit VfsFiles(protocol::UniqueFd root);
    protocol::UniqueFd root_;
};

}  // namespace host::storage
