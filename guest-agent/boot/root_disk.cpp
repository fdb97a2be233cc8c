#include "guest-agent/boot/root_disk.hpp"

#include "guest-agent/boot/mounting.hpp"
#include "guest-agent/system/console.hpp"
#include "protocol/base/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace guest_agent {
namespace {

using protocol::Failure;
using protocol::Kind;
using protocol::Result;
using protocol::UniqueFd;

constexpr char disk[] = "/dev/vda";
constexpr char label[] = "capsule-root";
constexpr int wait_step_ms = 5;
constexpr int wait_steps = 10'000 / wait_step_ms;
// Blocks at the end that do not make a group are not worth a resize.
constexpr std::uint64_t smallest_growth_bytes = 128u << 20;
// Linux's ext4: not in a header of the C library. _IOW('f', 16, __u64)
constexpr unsigned long ext4_resize = _IOW('f', 16, std::uint64_t);

// ext4 on-disk layout (kernel documentation, filesystems/ext4): the superblock starts at 1,024.
constexpr std::size_t superblock = 1'024;
constexpr std::size_t disk_start_bytes = 2'048;

std::uint32_t little_endian(std::string_view bytes, std::size_t at, std::size_t count) {
    std::uint32_t value = 0;
    for (std::size_t i = count; i-- > 0;) {
        value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    }
    return value;
}

Result<Ext4Size> size_of_disk_file_system() {
    const UniqueFd device(::open(disk, O_RDONLY | O_CLOEXEC));
    std::array<char, disk_start_bytes> start{};
    if (!device || ::pread(device.get(), start.data(), start.size(), 0) !=
                       static_cast<ssize_t>(start.size())) {
        return protocol::fail(Failure::from_errno(std::string("read ") + disk, errno));
    }
    return read_ext4_size({start.data(), start.size()});
}

// Deletes everything on the file system of `folder` but goes into no other.
void empty_folder(int folder, dev_t device) {
    // The stream owns the descriptor from here on.
    DIR* const entries = ::fdopendir(folder);
    if (entries == nullptr) {
        ::close(folder);
        return;
    }
    while (const dirent* entry = ::readdir(entries)) {
        if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
        struct stat info {};
        if (::fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0) continue;
        if (info.st_dev != device) continue;
        const bool is_folder = S_ISDIR(info.st_mode);
        if (is_folder) {
            const int inner = ::openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            if (inner >= 0) empty_folder(inner, device);
        }
        ::unlinkat(folder, entry->d_name, is_folder ? AT_REMOVEDIR : 0);
    }
    ::closedir(entries);
}

// The static `mt` of the initial RAM file system stays where it is; only its name moves, so nothing
// is copied.
void place_mt(const std::string& root) {
    if (::access("/mt", F_OK) < 0) return;
    const std::string target = root + "/usr/local/bin/mt";
    const UniqueFd made(::open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
    ::chmod("/mt", 0755);
    const bool bound =
        ::mount("/mt", target.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
        ::mount(nullptr, target.c_str(), nullptr,
                MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) == 0;
    if (!bound) say(std::string("mt cannot be placed: ") + std::strerror(errno));
}

}  // namespace

Result<Ext4Size> read_ext4_size(std::string_view start) {
    constexpr std::uint32_t magic = 0xEF53;
    constexpr std::uint32_t incompat_64bit = 0x80;
    if (start.size() < disk_start_bytes || little_endian(start, superblock + 0x38, 2) != magic) {
        return protocol::fail(Kind::io, std::string(disk) + " holds no ext4 file system");
    }
    const auto name = start.substr(superblock + 0x78, 16);
    if (name.substr(0, name.find('\0')) != label) {
        return protocol::fail(Kind::io, std::string(disk) + " is not labelled " + label);
    }
    const std::uint32_t log_block = little_endian(start, superblock + 0x18, 4);
    if (log_block > 6) return protocol::fail(Kind::io, std::string(disk) + ": bad block size");
    Ext4Size size;
    size.block_bytes = 1'024ULL << log_block;
    size.blocks = little_endian(start, superblock + 0x04, 4);
    if ((little_endian(start, superblock + 0x60, 4) & incompat_64bit) != 0) {
        size.blocks |= std::uint64_t{little_endian(start, superblock + 0x150, 4)} << 32;
    }
    return size;
}

Result<void> mount_root_disk(const char* folder) {
    // The driver has probed its devices when its module is loaded, so this hardly ever waits.
    for (int step = 0; ::access(disk, F_OK) < 0; ++step) {
        if (step == wait_steps)
            return protocol::fail(Kind::not_found, std::string(disk) + " does not appear");
        const struct timespec pause { 0, wait_step_ms * 1'000'000L };
        ::nanosleep(&pause, nullptr);
    }
    TRY_VOID(size_of_disk_file_system());
    ::mkdir(folder, 0755);
    // The disk is thrown away with the run: no access times, no flushes for a crash that nobody
    // recovers from, no background initialisation.
    return mount_at(disk, folder, "ext4", MS_NOATIME, "nobarrier,noinit_itable,errors=continue");
}

Result<void> complete_root(const char* folder) {
    const std::string root(folder);
    constexpr unsigned long data_only = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    for (const char* name : {"/dev", "/proc", "/sys", "/run", "/mnt", "/tmp"}) {
        ::mkdir((root + name).c_str(), std::strcmp(name, "/tmp") == 0 ? 01777 : 0755);
    }
    ::mkdir("/dev/pts", 0755);
    ::mkdir("/dev/shm", 01777);
    // devtmpfs leaves these to user space; without them `echo > /dev/stderr` would try to make a
    // file.
    [[maybe_unused]] const int links =
        ::symlink("/proc/self/fd", "/dev/fd") + ::symlink("/proc/self/fd/0", "/dev/stdin") +
        ::symlink("/proc/self/fd/1", "/dev/stdout") + ::symlink("/proc/self/fd/2", "/dev/stderr");
    TRY_VOID(mount_at("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                      "gid=5,mode=620,ptmxmode=666"));
    TRY_VOID(mount_at("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"));
    for (const char* name : {"/dev", "/proc", "/sys"}) {
        if (::mount(name, (root + name).c_str(), nullptr, MS_MOVE, nullptr) < 0) {
            return protocol::fail(Failure::from_errno(std::string("move ") + name, errno));
        }
    }
    TRY_VOID(mount_at("tmpfs", root + "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755"));
    ::mkdir((root + "/run/lock").c_str(), 01777);
    ::chmod((root + "/run/lock").c_str(), 01777);
    ::mkdir((root + "/mnt/secrets").c_str(), 0755);
    TRY_VOID(mount_at("tmpfs", root + "/mnt/secrets", "tmpfs", data_only, "mode=0755,size=16m"));
    place_mt(root);
    return {};
}

Result<void> switch_root(const char* folder) {
    struct stat here {};
    const int old_root = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (old_root < 0 || ::fstat(old_root, &here) < 0) {
        return protocol::fail(Failure::from_errno("open the initial root", errno));
    }
    if (::chdir(folder) < 0 || ::mount(".", "/", nullptr, MS_MOVE, nullptr) < 0 ||
        ::chroot(".") < 0 || ::chdir("/") < 0) {
        ::close(old_root);
        return protocol::fail(Failure::from_errno("switch root", errno));
    }
    // What is still mapped or bound (this program, `mt`) lives on without its name.
    empty_folder(old_root, here.st_dev);
    return {};
}

void grow_root() {
    const auto size = size_of_disk_file_system();
    const UniqueFd device(::open(disk, O_RDONLY | O_CLOEXEC));
    std::uint64_t disk_bytes = 0;
    if (!size || !device || ::ioctl(device.get(), BLKGETSIZE64, &disk_bytes) < 0) return;
    if (disk_bytes < size->blocks * size->block_bytes + smallest_growth_bytes) return;
    std::uint64_t blocks = disk_bytes / size->block_bytes;
    const UniqueFd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root || ::ioctl(root.get(), ext4_resize, &blocks) < 0) {
        say(std::string("the root file system cannot grow: ") + std::strerror(errno));
    }
}

}  // namespace guest_agent
