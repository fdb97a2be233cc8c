#pragma once
// The host's memory as it is now.

#include "host/sandbox/parts.hpp"

namespace host {

// From /proc/meminfo. Zeros when it cannot be read: then no run has room.
sandbox::HostMemory read_host_memory();

}  // namespace host
