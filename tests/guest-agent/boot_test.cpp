#include "guest-agent/boot/boot_options.hpp"
#include "guest-agent/boot/mounting.hpp"
#include "guest-agent/boot/root_disk.hpp"
#include "guest-agent/process/cgroup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace guest_agent {
namespace {

using testing::ElementsAre;

TEST(BootOptions, AreEmptyWithoutOwnWords) {
    const auto options = parse_boot_options("console=ttyS0 quiet root=/dev/vda\n");
    EXPECT_FALSE(options.probe);
    EXPECT_FALSE(options.transport);
}

TEST(BootOptions, KnowProbeAndTransport) {
    EXPECT_TRUE(parse_boot_options("quiet capsule.probe\n").probe);
    EXPECT_EQ(parse_boot_options("capsule.transport=vsock").transport, TransportChoice::vsock);
    EXPECT_EQ(parse_boot_options(" capsule.transport=serial x").transport, TransportChoice::serial);
}

TEST(BootOptions, TakeWholeWordsOnly) {
    const auto options = parse_boot_options(
        "capsule.probe=1 xcapsule.probe capsule.transport=tcp capsule.transport");
    EXPECT_FALSE(options.probe);
    EXPECT_FALSE(options.transport);
}

TEST(Mounts, OfATypeComeLastMountedFirstAndUnescaped) {
    constexpr std::string_view mounts =
        "/dev/vda / ext4 rw,noatime 0 0\n"
        "data /mnt/data virtiofs rw 0 0\n"
        "more /mnt/a\\040b\\134 virtiofs rw 0 0\n"
        "fuse /mnt/virtiofs fuse rw 0 0\n";
    EXPECT_THAT(mounts_of_type(mounts, "virtiofs"), ElementsAre("/mnt/a b\\", "/mnt/data"));
}

std::string disk_start() {
    std::string start(2'048, '\0');
    start.replace(1'024 + 0x38, 2, "\x53\xEF", 2);
    start.replace(1'024 + 0x78, 12, "capsule-root");
    start[1'024 + 0x18] = 2;   // 4 KiB blocks
    start[1'024 + 0x05] = 1;   // 256 blocks
    start[1'024 + 0x150] = 1;  // and 2^32, if the feature says so
    return start;
}

TEST(Ext4Size, IsReadFromTheSuperblock) {
    const auto size = read_ext4_size(disk_start());
    ASSERT_TRUE(size);
    EXPECT_EQ(size->blocks, 256U);
    EXPECT_EQ(size->block_bytes, 4'096U);
}

TEST(Ext4Size, HasAHighPartWithThe64BitFeature) {
    auto start = disk_start();
    start[1'024 + 0x60] = '\x80';
    EXPECT_EQ(read_ext4_size(start)->blocks, (1ULL << 32) + 256);
}

TEST(Ext4Size, IsRefusedForAnythingElse) {
    EXPECT_FALSE(read_ext4_size(std::string(2'048, '\0')));
    EXPECT_FALSE(read_ext4_size(disk_start().substr(0, 2'000)));
    auto other = disk_start();
    other[1'024 + 0x78] = 'x';
    EXPECT_FALSE(read_ext4_size(other));
    auto odd = disk_start();
    odd[1'024 + 0x18] = 40;
    EXPECT_FALSE(read_ext4_size(odd));
}

TEST(MemoryForCommands, IsWhatIsAvailableLessAReserve) {
    constexpr std::uint64_t mib = 1u << 20;
    EXPECT_EQ(
        memory_for_commands("MemTotal:  524288 kB\nMemFree: 1 kB\nMemAvailable:  450560 kB\n"),
        (440 - 32) * mib);
    EXPECT_EQ(memory_for_commands("MemTotal:  4194304 kB\nMemAvailable:  4096000 kB\n"),
              (4'000 - 256) * mib);
}

TEST(MemoryForCommands, IsAtLeastHalf) {
    EXPECT_EQ(memory_for_commands("MemTotal:  65536 kB\nMemAvailable:  40960 kB\n"), 32u << 20);
}

TEST(Cgroup, CountsWhatCanBeTakenBack) {
    EXPECT_EQ(reclaimable_memory("anon 9000\nfile 5000\nkernel 70\nshmem 1000\nfile_mapped 300\n"
                                 "slab_reclaimable 20\nslab_unreclaimable 40\n"),
              4020u);
    EXPECT_EQ(reclaimable_memory("anon 9000\nfile 10\nshmem 20\nslab_reclaimable 7\n"), 7u);
    EXPECT_EQ(reclaimable_memory(""), 0u);
}

TEST(MemoryForCommands, IsZeroForUnreadableText) {
    EXPECT_EQ(memory_for_commands("nonsense"), 0U);
}

}  // namespace
}  // namespace guest_agent
