#include "host/storage/local_disks.hpp"

#include "host/storage/bind_mounts.hpp"
#include "host/storage/program.hpp"
#include "temporary_folder.hpp"

#include <cerrno>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace host::storage {
namespace {

using protocol::Kind;
using protocol::RunId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

bool have_qemu_img() {
    ProgramRequest request;
    request.arguments = {"qemu-img", "--version"};
    return run_program_checked(request).has_value();
}

class LocalDisksTest : public ::testing::Test {
  protected:
    void SetUp() override {
        if (geteuid() != 0) GTEST_SKIP() << "needs root";
        if (!have_qemu_img()) GTEST_SKIP() << "qemu-img is not installed";
        ASSERT_TRUE(disks.prepare());
        image.base_disk.value = folder / "base.qcow2";
        image.disk_bytes = 64u << 20;
        ProgramRequest request;
        request.arguments = {"qemu-img", "create", "-q", "-f", "qcow2", image.base_disk.value,
                             "64M"};
        ASSERT_TRUE(run_program_checked(request));
    }
    void TearDown() override { static_cast<void>(disks.remove(run)); }

    static struct stat status_of(const std::string& path) {
        struct stat status {};
        EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
        return status;
    }

    TemporaryFolder folder;
    LocalDisks disks{folder / "state", folder / "images"};
    sandbox::BootImage image;
    const RunId run = RunId::random();
};

TEST_F(LocalDisksTest, MakesAFolderThatTheRunCanEnterAndADiskThatIsItsOwn) {
    ASSERT_TRUE(disks.create(run, image, 128u << 20, 123'456));
    const auto paths = disks.layout(run);
    EXPECT_EQ(status_of(paths.folder.value).st_mode & 07777, 0711u);
    EXPECT_EQ(status_of(paths.folder.value).st_uid, 0u);
    EXPECT_EQ(status_of(paths.overlay.value).st_mode & 07777, 0600u);
    EXPECT_EQ(status_of(paths.overlay.value).st_uid, 123'456u);
}

TEST_F(LocalDisksTest, MakesADiskAtLeastAsLargeAsTheImage) {
    ASSERT_TRUE(disks.create(run, image, 0, 0));
    ProgramRequest request;
    request.arguments = {"qemu-img", "info", "--output=json", disks.layout(run).overlay.value};
    const auto info = run_program_checked(request);
    ASSERT_TRUE(info);
    EXPECT_THAT(*info, ::testing::HasSubstr("\"virtual-size\": 67108864"));
    EXPECT_THAT(*info, ::testing::HasSubstr("\"backing-filename\": \"" + image.base_disk.value));
}

TEST_F(LocalDisksTest, RefusesARunThatIsThereAlready) {
    ASSERT_TRUE(disks.create(run, image, 0, 0));
    EXPECT_EQ(disks.create(run, image, 0, 0).error().kind(), Kind::conflict);
}

TEST_F(LocalDisksTest, ListsRunsAndNothingElse) {
    ASSERT_TRUE(disks.create(run, image, 0, 0));
    std::filesystem::create_directory(folder / "state/runs/lost+found");
    EXPECT_THAT(*disks.list(), ElementsAre(run));
    ASSERT_TRUE(disks.remove(run));
    EXPECT_THAT(*disks.list(), IsEmpty());
}

TEST_F(LocalDisksTest, RemovesTwice) {
    ASSERT_TRUE(disks.create(run, image, 0, 0));
    EXPECT_TRUE(disks.remove(run));
    EXPECT_TRUE(disks.remove(run));
    EXPECT_FALSE(std::filesystem::exists(disks.layout(run).folder.value));
}

TEST_F(LocalDisksTest, RemovesLinksAndNotWhatTheyName) {
    ASSERT_TRUE(disks.create(run, image, 0, 0));
    put_file(folder / "canary", "canary");
    std::filesystem::create_symlink(folder.path(), disks.layout(run).folder.value + "/out");
    EXPECT_TRUE(disks.remove(run));
    EXPECT_EQ(content_of(folder / "canary"), "canary");
}

TEST_F(LocalDisksTest, GivesAVfsToItsUserEachTime) {
    VfsFolders folders(folder / "state/vfs");
    ASSERT_TRUE(folders.create("data"));
    ASSERT_EQ(chmod(folders.path("data").c_str(), 0777), 0);
    ASSERT_EQ(chown(folders.path("data").c_str(), 0, 0), 0);
    const auto source = disks.prepare_vfs(run, "data", "vfs0", false);
    ASSERT_TRUE(source);
    EXPECT_EQ(source->value, folders.path("data"));
    EXPECT_EQ(status_of(source->value).st_mode & 07777, 0770u);
    EXPECT_EQ(status_of(source->value).st_uid, 1000u);
}

TEST_F(LocalDisksTest, BindsAReadOnlyVfs) {
    VfsFolders folders(folder / "state/vfs");
    ASSERT_TRUE(folders.create("data"));
    put_file(folders.path("data") + "/file", "content");
    ASSERT_TRUE(disks.create(run, image, 0, 0));
    const auto source = disks.prepare_vfs(run, "data", "vfs0", true);
    ASSERT_TRUE(source) << source.error().describe();
    EXPECT_EQ(content_of(source->value + "/file"), "content");
    EXPECT_EQ(unlink((source->value + "/file").c_str()), -1);
    EXPECT_EQ(errno, EROFS);

    // Also with what a crash would leave: the mount is found in the kernel's table.
    LocalDisks after_restart(folder / "state", folder / "images");
    ASSERT_TRUE(after_restart.remove(run));
    EXPECT_FALSE(std::filesystem::exists(disks.layout(run).folder.value));
    EXPECT_EQ(content_of(folders.path("data") + "/file"), "content");
}

TEST_F(LocalDisksTest, NeverEntersAMountWhenRemoving) {
    ASSERT_TRUE(disks.create(run, image, 0, 0));
    std::filesystem::create_directory(folder / "precious");
    put_file(folder / "precious/file", "content");
    // On a detached tree the mount is not below the run's folder by name, yet it is there.
    const std::string mounted = folder / "state/vfs/data";
    std::filesystem::create_directories(mounted + "/inner");
    ASSERT_EQ(mount((folder / "precious").c_str(), (mounted + "/inner").c_str(), nullptr, MS_BIND,
                    nullptr),
              0);
    EXPECT_EQ(VfsFolders(folder / "state/vfs").remove("data").error().kind(), Kind::conflict);
    ASSERT_EQ(umount2((mounted + "/inner").c_str(), MNT_DETACH), 0);
    EXPECT_EQ(content_of(folder / "precious/file"), "content");
}

TEST_F(LocalDisksTest, TellsFreeSpace) {
    EXPECT_GT(*disks.free_bytes(), 0u);
}

TEST_F(LocalDisksTest, KeepsVfsFromEverybodyElse) {
    EXPECT_EQ(status_of(folder / "state/vfs").st_mode & 07777, 0700u);
}

TEST(MountPointsBelow, UndoesTheKernelsEscapes) {
    const std::string table =
        "36 35 98:0 / /state/runs/a/vfs0 ro,nosuid - ext4 /dev/x rw\n"
        "37 35 98:0 /x /state/runs/a/with\\040space\\011\\134 rw - ext4 /dev/x rw\n"
        "38 35 98:0 / /state/runs/ab rw - ext4 /dev/x rw\n"
        "39 35 98:0 / /state/runs/a rw - ext4 /dev/x rw\n"
        "broken\n";
    EXPECT_THAT(mount_points_below("/state/runs/a", table),
                ElementsAre("/state/runs/a/vfs0", "/state/runs/a/with space\t\\"));
}

}  // namespace
}  // namespace host::storage
