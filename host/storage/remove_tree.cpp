#include "host/storage/remove_tree.hpp"

#include "host/storage/beneath.hpp"
#include "host/storage/os_failure.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/name.hpp"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>

namespace host::storage {
namespace {

using protocol::Result;
using protocol::UniqueFd;

// Folders below this depth are moved up to the top and emptied from there: each level holds a
// descriptor, and a guest can nest folders deeper than there are descriptors.
constexpr int depth_limit = 48;

class Remover {
  public:
    // `top`: the folder that is being removed, where deep folders are moved to.
    explicit Remover(int top) : top_(top) {}

    // Empties `folder`. EXDEV for a mount inside.
    Result<void> empty(int folder, int depth) {
        // Removing while reading may skip entries on some file systems, so read again until a whole
        // pass finds nothing.
        while (passes_left_-- > 0) {
            TRY(const std::size_t found, pass(folder, depth));
            if (found == 0) return {};
        }
        return protocol::fail(protocol::Kind::conflict, "the folder keeps being filled");
    }

  private:
    Result<std::size_t> pass(int folder, int depth) {
        // The stream owns a descriptor of its own, with a position of its own.
        UniqueFd again(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!again) return protocol::fail(os_failure("opening a folder", errno));
        const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(again.get()), closedir);
        if (!stream) return protocol::fail(os_failure("reading a folder", errno));
        static_cast<void>(again.release());  // the stream closes it

        std::size_t found = 0;
        for (errno = 0; const dirent* entry = readdir(stream.get()); errno = 0) {
            const char* name = entry->d_name;
            if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
            ++found;
            TRY_VOID(remove(folder, name, depth));
        }
        if (errno != 0) return protocol::fail(os_failure("reading a folder", errno));
        return found;
    }

    Result<void> remove(int folder, const char* name, int depth) {
        if (unlinkat(folder, name, 0) == 0 || errno == ENOENT) return {};
        if (errno != EISDIR) return refuse("removing", name);
        if (depth >= depth_limit) return move_up(folder, name);
        const UniqueFd child(open_beneath(folder, name, O_RDONLY | O_DIRECTORY));
        if (!child) return errno == ENOENT ? Result<void>() : refuse("entering", name);
        TRY_VOID(empty(child.get(), depth + 1));
        if (unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
        // Somebody put something in meanwhile: the next pass sees it.
        if (errno == ENOTEMPTY) return {};
        return refuse("removing", name);
    }

    Result<void> move_up(int folder, const char* name) {
        const std::string moved = ".removing-" + protocol::RunId::random().str();
        if (renameat(folder, name, top_, moved.c_str()) == 0 || errno == ENOENT) return {};
        return refuse("removing", name);
    }

    Result<void> refuse(const char* doing, const char* name) {
        const int error = errno;
        const std::string what = std::string(doing) + " " + protocol::escape_foreign(name);
        if (error == EXDEV) {
            return protocol::fail(protocol::Kind::conflict, what + ": something is mounted there");
        }
        return protocol::fail(os_failure(what, error));
    }

    int top_;
    // Each folder takes two; a guest that creates faster than this removes must not keep it
    // forever.
    int passes_left_ = 10'000'000;
};

}  // namespace

Result<void> remove_tree(int parent, const std::string& name) {
    const std::string shown = "removing " + protocol::escape_foreign(name);
    if (unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR) return protocol::fail(os_failure(shown, errno));
    const UniqueFd folder(open_beneath(parent, name, O_RDONLY | O_DIRECTORY));
    if (!folder) {
        if (errno == ENOENT) return {};
        return protocol::fail(os_failure(shown, errno));
    }
    TRY_VOID(Remover(folder.get()).empty(folder.get(), 0));
    if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    return protocol::fail(os_failure(shown, errno));
}

}  // namespace host::storage
