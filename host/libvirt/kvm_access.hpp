#pragma once
// Access of machines to /dev/kvm. Each QEMU runs as a user of its own, with one group and no
// others; Debian gives the device to root and the group kvm.

#include "protocol/base/result.hpp"

#include <string>
#include <string_view>
#include <sys/types.h>

namespace host::libvirt {

// Adds the group to the access control list of /dev/kvm, if it may not open it yet. libvirt copies
// that list when it makes a machine's own /dev. Asked before each start: a module that is loaded
// again makes the device anew.
protocol::Result<void> let_group_use_kvm(gid_t group);

// The list (acl(5), in the kernel's binary form; "" = the device has only a mode) with reading and
// writing for the group. Everything else in it stays. Pure. "" for a list that is not understood.
std::string acl_with_group(std::string_view acl, mode_t mode, gid_t group);

}  // namespace host::libvirt
