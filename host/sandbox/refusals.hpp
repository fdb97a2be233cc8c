#pragma once
// Failures with the stable codes of docs/api.md, so that each is written once.

#include "protocol/base/result.hpp"

#include <string>

namespace host::sandbox {

inline protocol::Failure not_found(const std::string& what) {
    return protocol::Failure::with_code(protocol::Kind::not_found, "not-found",
                                        what + " does not exist");
}
inline protocol::Failure forbidden(const std::string& what) {
    return protocol::Failure::with_code(protocol::Kind::forbidden, "forbidden", what);
}
inline protocol::Failure invalid(const std::string& what) {
    return protocol::Failure::with_code(protocol::Kind::invalid_argument, "invalid-request", what);
}
inline protocol::Failure no_room(const std::string& why) {
    return protocol::Failure::with_code(protocol::Kind::resource_exhausted, "no-room", why);
}
inline protocol::Failure run_ended(const std::string& why) {
    return protocol::Failure::with_code(protocol::Kind::conflict, "run-ended", why);
}
inline protocol::Failure guest_unavailable(const std::string& why) {
    return protocol::Failure::with_code(protocol::Kind::unavailable, "guest-unavailable", why);
}
inline protocol::Failure idempotency_mismatch() {
    return protocol::Failure::with_code(protocol::Kind::conflict, "idempotency-mismatch",
                                        "this Idempotency-Key was used for another request");
}

}  // namespace host::sandbox
