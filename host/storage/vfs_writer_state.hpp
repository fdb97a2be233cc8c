#pragma once
// Inside of VfsWriter, made by VfsFiles. The content goes into a file without a name (O_TMPFILE),
// which vanishes by itself whatever happens to this process, and gets its name at commit.

#include "host/storage/vfs_files.hpp"
#include "host/storage/vfs_path.hpp"

namespace host::storage {

struct VfsWriter::State {
    // Refuses targets that are links, folders or special files.
    static Result<VfsWriter> create(protocol::UniqueFd folder, const VfsPath& path);

    State(protocol::UniqueFd in_folder, protocol::UniqueFd unnamed_file, VfsPath target)
        : folder(std::move(in_folder)), file(std::move(unnamed_file)), path(std::move(target)) {}
    protocol::UniqueFd folder;
    protocol::UniqueFd file;
    VfsPath path;
};

}  // namespace host::storage
