// The /init of the machines that host_libvirt_machine_test boots: says "ready" on the virtio-serial
// port, then does what each byte asks for. Static, no part of the product.

#include <array>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

void say(int fd, const std::string& text) {
    if (write(fd, text.data(), text.size()) < 0) std::perror("write");
}

void load_modules() {
    FILE* order = std::fopen("/modules/order", "re");
    std::array<char, 128> line{};
    while (order != nullptr && std::fgets(line.data(), line.size(), order) != nullptr) {
        line[std::strcspn(line.data(), "\n")] = '\0';
        const int module =
            open((std::string("/modules/") + line.data()).c_str(), O_RDONLY | O_CLOEXEC);
        if (module >= 0) syscall(SYS_finit_module, module, "", 0);
        close(module);
    }
}

int open_port() {
    const std::string folder = "/sys/class/virtio-ports/";
    DIR* ports = opendir(folder.c_str());
    while (const dirent* entry = ports == nullptr ? nullptr : readdir(ports)) {
        std::array<char, 64> name{};
        const int fd = open((folder + entry->d_name + "/name").c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read(fd, name.data(), name.size() - 1) <= 0) continue;
        close(fd);
        if (std::strncmp(name.data(), "org.capsule.agent.0", 19) == 0) {
            return open((std::string("/dev/") + entry->d_name).c_str(), O_RDWR | O_CLOEXEC);
        }
    }
    return -1;
}

void use_share(int port) {
    mkdir("/share", 0755);
    if (mount("vfs0", "/share", "virtiofs", 0, nullptr) != 0) return say(port, "no mount\n");
    const int file = open("/share/from-guest", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    say(file, "hello");
    close(file);
    umount("/share");
    say(port, "shared\n");
}

void fill_disk() {
    const int disk = open("/dev/vda", O_WRONLY | O_CLOEXEC);
    static std::array<char, 1 << 20> block;
    block.fill('z');
    while (write(disk, block.data(), block.size()) > 0) fsync(disk);
}

void panic() {
    const int trigger = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);
    say(trigger, "c");
}

}  // namespace

int main() {
    mount("devtmpfs", "/dev", "devtmpfs", 0, nullptr);
    mount("sysfs", "/sys", "sysfs", 0, nullptr);
    mount("proc", "/proc", "proc", 0, nullptr);
    load_modules();
    const int port = open_port();
    say(port, "ready\n");
    for (char request = 0; read(port, &request, 1) == 1;) {
        if (request == 'o') reboot(RB_POWER_OFF);
        if (request == 'r') reboot(RB_AUTOBOOT);
        if (request == 'p') panic();
        if (request == 's') use_share(port);
        if (request == 'f') fill_disk();
    }
    return 1;
}
