#pragma once
// A path inside a VFS as a client writes it, checked. Pure.

#include "protocol/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace host::storage {

class VfsPath {
  public:
    // invalid_argument for "." and "..", NUL, parts over 255 bytes, a path over 4096 bytes.
    static protocol::Result<VfsPath> parse(std::string_view text);

    bool is_root() const { return parts_.empty(); }
    // "a/b", or "." for the root: what openat2 takes.
    std::string relative() const;
    // The same for the folder that holds it; meaningless for the root.
    std::string parent() const;
    const std::string& name() const { return parts_.back(); }
    const std::vector<std::string>& parts() const { return parts_; }
    // For messages: escaped.
    std::string shown() const;

  private:
    std::vector<std::string> parts_;
};

}  // namespace host::storage
