#include "host/libvirt/firmware.hpp"

#include <unistd.h>

namespace host::libvirt {

std::string boot_firmware() {
    constexpr char qboot[] = "/usr/share/qemu/qboot.rom";
    return access(qboot, R_OK) == 0 ? qboot : "";
}

}  // namespace host::libvirt
