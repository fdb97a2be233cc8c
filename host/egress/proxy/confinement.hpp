#pragma once
// Confinement: what the proxy gives up before it reads the first byte of a guest.

#include "protocol/base/result.hpp"

#include <sys/types.h>

namespace host::egress {

struct Identity {
    Identity() = default;
    uid_t uid{};
    gid_t gid{};
};

// Becomes `identity` for good (only where started as root), with no capability, no way to gain one
// (no_new_privs, empty bounding set), no core dumps and a bounded number of descriptors. A step
// that fails is a failure: the proxy must not run with more than this.
protocol::Result<void> confine(const Identity& identity);

}  // namespace host::egress
