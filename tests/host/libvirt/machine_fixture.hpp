#pragma once
// Real machines through qemu:///system, for tests. Skips with the reason where that cannot be.

#include "host/sandbox/hypervisor.hpp"
#include "protocol/base/unique_fd.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace host::libvirt {

class MachineTest : public ::testing::Test {
  protected:
    // The image store whose kernel is booted.
    static std::string images();
    static void SetUpTestSuite();
    static void TearDownTestSuite();
    void SetUp() override;
    void TearDown() override;

    // A machine with this test's own init. Nothing is started.
    sandbox::MachineSpec small_machine() const;
    // The one line that the init sends next on its port; "" when none comes within the limit.
    std::string next_line();
    void connect(const sandbox::MachineSpec& spec);
    void ask(char request);
    // The first event that comes, or nullopt.
    std::optional<sandbox::MachineEvent> wait_for_event();
    // The pid in libvirt's pid file of this run's QEMU; 0 when there is none.
    static pid_t qemu_pid(const protocol::RunId& of);
    // Nothing of the run is left: pid files, log files, folders.
    static void expect_nothing_left(const protocol::RunId& of);

    const protocol::InstallationId installation = protocol::InstallationId::random();
    const protocol::RunId run = protocol::RunId::random();
    std::unique_ptr<sandbox::Hypervisor> hypervisor;
    std::string folder;  // of this run

  private:
    protocol::UniqueFd port_;
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::optional<sandbox::MachineEvent> event_;
};

}  // namespace host::libvirt
