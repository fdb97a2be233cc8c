#pragma once
// errno of a file system call as a Failure with the kind a client can act on.

#include "protocol/base/failure.hpp"

#include <string>

namespace host::storage {

// Link and special-file refusals get the API's codes "is-a-link", "is-a-folder", "not-a-folder",
// "already-exists", "not-empty"; no room is resource_exhausted "disk-full"; the rest is io. `what`
// names the call and its object.
protocol::Failure os_failure(std::string what, int error_number);

}  // namespace host::storage
