#include "machine_fixture.hpp"

#include "host/libvirt/connection.hpp"
#include "host/libvirt/domain_xml.hpp"
#include "host/storage/program.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

namespace host::libvirt {
namespace {

using namespace std::chrono_literals;

constexpr uid_t machine_uid = 1'950'000'000;
// Generous: a loaded machine without KVM.
constexpr auto boot_limit = 120s;

bool run_tool(std::vector<std::string> arguments) {
    storage::ProgramRequest request;
    request.arguments = std::move(arguments);
    return storage::run_program_checked(request).has_value();
}

std::string& suite_folder() {
    static std::string folder;
    return folder;
}
std::string initrd() {
    return suite_folder() + "/initrd.cpio";
}

bool any_file(const std::string& pattern) {
    glob_t found{};
    const bool exists = glob(pattern.c_str(), 0, nullptr, &found) == 0;
    globfree(&found);
    return exists;
}

}  // namespace

std::string MachineTest::images() {
    const char* configured = std::getenv("CAPSULE_IMAGES");
    return configured != nullptr ? configured : "/var/lib/capsuled/images";
}

void MachineTest::SetUpTestSuite() {
    // Not /tmp, which a libvirtd under systemd may not share.
    std::string made = "/var/tmp/libvirt-test-XXXXXX";
    if (mkdtemp(made.data()) == nullptr || chmod(made.c_str(), 0711) != 0) return;
    suite_folder() = made;
    run_tool({"python3", CPIO_TOOL, "--init", MACHINE_INIT, "--modules",
              images() + "/kernel/modules", "--output", initrd()});
}

void MachineTest::TearDownTestSuite() {
    std::error_code error;
    if (!suite_folder().empty()) std::filesystem::remove_all(suite_folder(), error);
}

void MachineTest::SetUp() {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    if (access(initrd().c_str(), R_OK) != 0) {
        GTEST_SKIP() << "no kernel in " << images() << ": build it with images/build.sh kernel";
    }
    auto connected = libvirt::connect("qemu:///system", installation);
    if (!connected) GTEST_SKIP() << connected.error().describe();
    hypervisor = std::move(*connected);
    hypervisor->observe([this](sandbox::MachineEvent event) {
        const std::lock_guard lock(mutex_);
        if (!event_) event_ = std::move(event);
        arrived_.notify_all();
    });
    folder = suite_folder() + "/" + run.str();
    std::filesystem::create_directory(folder);
    chmod(folder.c_str(), 0711);
}

void MachineTest::TearDown() {
    if (hypervisor) {
        EXPECT_TRUE(hypervisor->destroy(run));
    }
    hypervisor.reset();
}

sandbox::MachineSpec MachineTest::small_machine() const {
    sandbox::MachineSpec spec(run);
    spec.memory_bytes = 256ull << 20;
    spec.accelerator = sandbox::Accelerator::tcg;
    spec.transport = sandbox::Transport::serial;
    spec.kernel.value = images() + "/kernel/vmlinux";
    spec.initrd.value = initrd();
    spec.overlay.value = folder + "/disk.qcow2";
    spec.console_log.value = folder + "/console.log";
    spec.serial_socket.value = folder + "/agent.sock";
    spec.kernel_command_line = "console=ttyS0 quiet panic=-1";
    spec.uid = machine_uid;
    EXPECT_TRUE(run_tool({"qemu-img", "create", "-q", "-f", "qcow2", spec.overlay.value, "1G"}));
    EXPECT_EQ(chown(spec.overlay.value.c_str(), machine_uid, static_cast<gid_t>(-1)), 0);
    return spec;
}

void MachineTest::connect(const sandbox::MachineSpec& spec) {
    port_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ASSERT_LT(spec.serial_socket.value.size(), sizeof address.sun_path);
    spec.serial_socket.value.copy(address.sun_path, sizeof address.sun_path - 1);
    // The socket API takes every address as a sockaddr.
    ASSERT_EQ(::connect(port_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
}

std::string MachineTest::next_line() {
    const auto deadline = std::chrono::steady_clock::now() + boot_limit;
    std::string line;
    while (std::chrono::steady_clock::now() < deadline) {
        pollfd entry{port_.get(), POLLIN, 0};
        if (poll(&entry, 1, 500) <= 0) continue;
        char c = 0;
        if (read(port_.get(), &c, 1) != 1) return {};
        if (c == '\n') return line;
        line += c;
    }
    return {};
}

void MachineTest::ask(char request) {
    ASSERT_EQ(write(port_.get(), &request, 1), 1);
}

std::optional<sandbox::MachineEvent> MachineTest::wait_for_event() {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, 60s, [this] { return event_.has_value(); });
    return event_;
}

pid_t MachineTest::qemu_pid(const protocol::RunId& of) {
    std::ifstream input("/run/libvirt/qemu/" + domain_name(of) + ".pid");
    pid_t pid = 0;
    input >> pid;
    return pid;
}

void MachineTest::expect_nothing_left(const protocol::RunId& of) {
    const std::string name = domain_name(of);
    EXPECT_FALSE(any_file("/run/libvirt/qemu/" + name + "*"));
    EXPECT_FALSE(any_file("/run/libvirt/qemu/*-" + name.substr(0, 20) + "*"));
    EXPECT_FALSE(any_file("/var/log/libvirt/qemu/" + name + "*"));
    EXPECT_FALSE(any_file("/var/lib/libvirt/qemu/domain-*-" + name.substr(0, 20) + "*"));
}

}  // namespace host::libvirt
