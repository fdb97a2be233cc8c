#pragma once
// The first things process 1 does, still in the initial RAM file system: kernel file systems,
// descriptors, limits, modules. Blocking; nothing else runs yet.

#include "protocol/base/result.hpp"

#include <string>

namespace guest_agent {

// /dev, /proc, /sys and cgroup2; standard descriptors that belong to nobody; limits and priority of
// the agent itself. Failures are fatal for the boot.
protocol::Result<void> prepare_process_one();

enum class VsockModules : bool { skip, load };

// Loads what `folder`/order names, in that order; vsock's own only where they are wanted, since
// each module costs boot time. One that fails is named on the console and skipped: what it was for
// will be missed later, with a better message. Without the folder (a kernel that has everything
// built in): nothing.
void load_modules(const std::string& folder, VsockModules vsock);

// The loopback interface; in a capsule there is no other.
void bring_loopback_up();

// Ends the machine at once. Returns only where that is not allowed.
void power_off_now();

}  // namespace guest_agent
