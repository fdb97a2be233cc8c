#pragma once
// VfsFolders: makes and removes the host folders that VFS live in, all below one root with mode
// 0700. Blocking; use a worker pool.

#include "protocol/base/result.hpp"

#include <string>

namespace host::storage {

class VfsFolders {
  public:
    explicit VfsFolders(std::string root) : root_(std::move(root)) {}
    // Root exists with mode 0700, owned by us.
    protocol::Result<void> prepare();
    // `folder`: the record's folder name (a UUID).
    std::string path(const std::string& folder) const;
    protocol::Result<void> create(const std::string& folder);  // 1000:1000, 0770
    protocol::Result<void> remove(const std::string& folder);  // with all contents; idempotent

  private:
    std::string root_;
};

}  // namespace host::storage
