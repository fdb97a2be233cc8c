#include "host/storage/os_failure.hpp"

#include <cerrno>

namespace host::storage {

using protocol::Failure;
using protocol::Kind;

Failure os_failure(std::string what, int error_number) {
    switch (error_number) {
        case ENOENT:
            return Failure(Kind::not_found, std::move(what) + ": no such file or folder");
        case ENOTDIR:
            return Failure::with_code(Kind::conflict, "not-a-folder",
                                      std::move(what) + ": a part of the path is not a folder");
        case EISDIR:
            return Failure::with_code(Kind::conflict, "is-a-folder",
                                      std::move(what) + ": is a folder");
        case ELOOP:
            return Failure::with_code(Kind::conflict, "is-a-link",
                                      std::move(what) + ": links are not followed");
        case EEXIST:
            return Failure::with_code(Kind::conflict, "already-exists",
                                      std::move(what) + ": exists already");
        case ENOTEMPTY:
            return Failure::with_code(Kind::conflict, "not-empty",
                                      std::move(what) + ": the folder is not empty");
        case ENAMETOOLONG:
            return Failure(Kind::invalid_argument, std::move(what) + ": the name is too long");
        case ENOSPC:
        case EDQUOT:
            return Failure::with_code(Kind::resource_exhausted, "disk-full",
                                      std::move(what) + ": the host's disk is full");
        default:
            return Failure::from_errno(std::move(what), error_number);
    }
}

}  // namespace host::storage
