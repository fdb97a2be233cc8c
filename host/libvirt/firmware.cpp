#include "host/libvirt/firmware.hpp"

#include <fstream>
#include <unistd.h>

namespace host::libvirt {

namespace {

bool apparmor_is_on() {
    std::ifstream file("/sys/module/apparmor/parameters/enabled");
    return file.get() == 'Y';
}

}  // namespace

std::string boot_firmware() {
    constexpr char qboot[] = "/usr/share/qemu/qboot.rom";
    return access(qboot, R_OK) == 0 && !apparmor_is_on() ? qboot : "";
}

}  // namespace host::libvirt
