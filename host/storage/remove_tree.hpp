#pragma once
// Removing a folder with everything in it, whatever a guest put there: links are removed, never
// followed; mounts are never entered; the depth of the tree costs neither stack nor descriptors.

#include "protocol/base/result.hpp"

#include <string>

namespace host::storage {

// Removes `name` from the folder `parent` (a descriptor). A file or link is removed too; absent is
// success.
protocol::Result<void> remove_tree(int parent, const std::string& name);

}  // namespace host::storage
