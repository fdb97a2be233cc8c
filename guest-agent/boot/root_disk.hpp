#pragma once
// From the initial RAM file system to the run's own disk: find, mount, complete with what a Debian
// userland expects, and make it the root. Blocking; each step is a few milliseconds. Source: kernel
// documentation, filesystems/ramfs-rootfs-initramfs (switch_root).

#include "protocol/base/result.hpp"

#include <cstdint>
#include <string_view>

namespace guest_agent {

// Waits for the disk (at most 10 s) and mounts it at `folder`. not_found: no disk; io: no file
// system of ours on it.
protocol::Result<void> mount_root_disk(const char* folder);

// Mounts /run, /dev/pts, /dev/shm, /mnt/secrets and /usr/local/bin/mt below `folder`.
protocol::Result<void> complete_root(const char* folder);

// Makes `folder` the root, frees the initial RAM file system's contents.
protocol::Result<void> switch_root(const char* folder);

// Lets the file system fill its disk, when the disk is larger. The kernel does it while mounted.
void grow_root();

// ext4's own fields from the first 2,048 bytes of a disk. Pure.
struct Ext4Size {
    std::uint64_t blocks = 0;
    std::uint64_t block_bytes = 0;
};
// io unless that is an ext4 file system labelled capsule-root.
protocol::Result<Ext4Size> read_ext4_size(std::string_view start_of_disk);

}  // namespace guest_agent
