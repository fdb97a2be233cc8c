#include "host/libvirt/connection.hpp"
#include "machine_fixture.hpp"

#include <filesystem>
#include <fstream>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace host::libvirt {
namespace {

using protocol::Kind;
using sandbox::MachineEnd;
using ::testing::IsEmpty;
using ::testing::SizeIs;

bool is_running(pid_t pid) {
    return kill(pid, 0) == 0;
}

TEST_F(MachineTest, BootsSharesAFolderAndLeavesNothing) {
    auto spec = small_machine();
    sandbox::SharedFolder share;
    share.tag = "vfs0";
    share.source.value = folder + "/share";
    std::filesystem::create_directory(share.source.value);
    spec.folders.push_back(share);

    const auto machine = hypervisor->start(spec);
    ASSERT_TRUE(machine) << machine.error().describe();
    EXPECT_TRUE(machine->active);
    ASSERT_THAT(machine->virtiofsd, SizeIs(1));
    connect(spec);
    ASSERT_EQ(next_line(), "ready");
    ask('s');
    EXPECT_EQ(next_line(), "shared");
    std::ifstream written(share.source.value + "/from-guest");
    std::string content;
    written >> content;
    EXPECT_EQ(content, "hello");

    const auto found = hypervisor->list();
    ASSERT_TRUE(found);
    ASSERT_THAT(*found, SizeIs(1));
    EXPECT_EQ(found->front().run, run);
    EXPECT_EQ(found->front().virtiofsd, machine->virtiofsd);

    const pid_t qemu = qemu_pid(run);
    struct stat status {};
    ASSERT_EQ(stat(("/proc/" + std::to_string(qemu)).c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, spec.uid) << "QEMU must run as the run's own user";

    EXPECT_TRUE(hypervisor->destroy(run));
    EXPECT_FALSE(is_running(qemu));
    EXPECT_FALSE(is_running(machine->virtiofsd.front().pid));
    expect_nothing_left(run);
    EXPECT_TRUE(hypervisor->destroy(run)) << "ending twice is no error";
    EXPECT_THAT(*hypervisor->list(), IsEmpty());
}

TEST_F(MachineTest, IsNotTouchedByAnotherInstallation) {
    const auto spec = small_machine();
    ASSERT_TRUE(hypervisor->start(spec));
    auto other = libvirt::connect("qemu:///system", protocol::InstallationId::random());
    ASSERT_TRUE(other);
    EXPECT_THAT(*(*other)->list(), IsEmpty());
    const auto destroyed = (*other)->destroy(run);
    ASSERT_FALSE(destroyed);
    EXPECT_EQ(destroyed.error().kind(), Kind::forbidden);
    EXPECT_THAT(*hypervisor->list(), SizeIs(1));
}

TEST_F(MachineTest, IsFoundAfterARestartOfTheDaemon) {
    const auto spec = small_machine();
    ASSERT_TRUE(hypervisor->start(spec));
    auto restarted = libvirt::connect("qemu:///system", installation);
    ASSERT_TRUE(restarted);
    EXPECT_THAT(*(*restarted)->list(), SizeIs(1));
    const pid_t qemu = qemu_pid(run);
    EXPECT_TRUE((*restarted)->destroy(run));
    EXPECT_FALSE(is_running(qemu));
    expect_nothing_left(run);
}

TEST_F(MachineTest, LeavesNothingWhenItCannotStart) {
    auto spec = small_machine();
    spec.kernel.value = folder + "/missing";
    EXPECT_FALSE(hypervisor->start(spec));
    EXPECT_THAT(*hypervisor->list(), IsEmpty());
    expect_nothing_left(run);
}

TEST_F(MachineTest, CannotStartTwice) {
    const auto spec = small_machine();
    ASSERT_TRUE(hypervisor->start(spec));
    EXPECT_FALSE(hypervisor->start(spec));
    EXPECT_THAT(*hypervisor->list(), SizeIs(1)) << "the first must live on";
}

TEST_F(MachineTest, TellsThatTheGuestPoweredOff) {
    const auto spec = small_machine();
    ASSERT_TRUE(hypervisor->start(spec));
    connect(spec);
    ASSERT_EQ(next_line(), "ready");
    ask('o');
    const auto event = wait_for_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->run, run);
    EXPECT_EQ(event->end, MachineEnd::shut_down);
    EXPECT_TRUE(hypervisor->destroy(run));
    expect_nothing_left(run);
}

TEST_F(MachineTest, EndsWhenTheGuestReboots) {
    const auto spec = small_machine();
    ASSERT_TRUE(hypervisor->start(spec));
    connect(spec);
    ASSERT_EQ(next_line(), "ready");
    ask('r');
    const auto event = wait_for_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->end, MachineEnd::shut_down);
}

TEST_F(MachineTest, TellsThatTheGuestsKernelPanicked) {
    if (!std::filesystem::exists(images() + "/kernel/modules/pvpanic-mmio.ko")) {
        GTEST_SKIP() << "the kernel in the image store has no pvpanic module";
    }
    const auto spec = small_machine();
    ASSERT_TRUE(hypervisor->start(spec));
    connect(spec);
    ASSERT_EQ(next_line(), "ready");
    ask('p');
    const auto event = wait_for_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->end, MachineEnd::crashed);
    EXPECT_TRUE(event->panicked);
}

TEST_F(MachineTest, TellsThatQemuDied) {
    const auto spec = small_machine();
    ASSERT_TRUE(hypervisor->start(spec));
    ASSERT_EQ(kill(qemu_pid(run), SIGKILL), 0);
    const auto event = wait_for_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->end, MachineEnd::failed);
    EXPECT_FALSE(event->panicked);
}

TEST_F(MachineTest, EndsWhenTheHostsDiskIsFull) {
    // The run's folder on a file system of its own, with room for the first few MiB.
    ASSERT_EQ(mount("none", folder.c_str(), "tmpfs", 0, "size=8m,mode=0711"), 0);
    const auto spec = small_machine();
    ASSERT_TRUE(hypervisor->start(spec));
    connect(spec);
    EXPECT_EQ(next_line(), "ready");
    ask('f');
    const auto event = wait_for_event();
    EXPECT_TRUE(event);
    if (event) {
        EXPECT_EQ(event->end, MachineEnd::failed);
        EXPECT_NE(event->detail.find("no room"), std::string::npos) << event->detail;
    }
    const auto machines = hypervisor->list();
    ASSERT_THAT(*machines, SizeIs(1));
    EXPECT_FALSE(machines->front().active) << "a machine that is paused for good is not alive";
    EXPECT_TRUE(hypervisor->destroy(run));
    EXPECT_EQ(umount2(folder.c_str(), MNT_DETACH), 0);
}

}  // namespace
}  // namespace host::libvirt
