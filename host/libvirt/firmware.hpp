#pragma once
// Which firmware a machine starts with. Also used by the accelerator probe, which must boot what
// runs boot.

#include <string>

namespace host::libvirt {

// qboot where QEMU ships it, else "" for QEMU's default (SeaBIOS). qboot only starts the kernel,
// which saves 0.3 s of 3.7 s under TCG. It hangs on a vmgenid device, whose ACPI table needs a
// loader command that it does not know: a machine with one must use SeaBIOS. So must all where
// AppArmor is on: libvirt's virt-aa-helper refuses a definition that names a file of /usr/share.
std::string boot_firmware();

}  // namespace host::libvirt
