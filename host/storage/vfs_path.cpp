#include "host/storage/vfs_path.hpp"

#include "protocol/base/name.hpp"

namespace host::storage {
namespace {

using protocol::Kind;
using protocol::Result;

constexpr std::size_t path_bytes = 4'096;  // PATH_MAX
constexpr std::size_t name_bytes = 255;    // NAME_MAX

std::string joined(const std::vector<std::string>& parts, std::size_t count) {
    std::string path;
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) path += '/';
        path += parts[i];
    }
    return path.empty() ? "." : path;
}

}  // namespace

Result<VfsPath> VfsPath::parse(std::string_view text) {
    if (text.size() >= path_bytes)
        return protocol::fail(Kind::invalid_argument, "the path is too long");
    if (text.find('\0') != std::string_view::npos) {
        return protocol::fail(Kind::invalid_argument, "a path cannot contain a zero byte");
    }
    VfsPath path;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('/'), text.size());
        const std::string_view part = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (part.empty()) continue;
        if (part == "." || part == "..") {
            return protocol::fail(Kind::invalid_argument,
                                  "a path cannot contain \"" + std::string(part) + "\"");
        }
        if (part.size() > name_bytes) {
            return protocol::fail(Kind::invalid_argument, "a name can have at most 255 bytes");
        }
        path.parts_.emplace_back(part);
    }
    return path;
}

std::string VfsPath::relative() const {
    return joined(parts_, parts_.size());
}

std::string VfsPath::parent() const {
    return joined(parts_, parts_.size() - 1);
}

std::string VfsPath::shown() const {
    return protocol::escape_foreign(is_root() ? "/" : "/" + relative());
}

}  // namespace host::storage
