#include "host/libvirt/connection.hpp"
#include "host/machine/checks.hpp"
#include "host/model/defaults.hpp"
#include "host/storage/local_disks.hpp"
#include "protocol/channel/transport.hpp"
#include "protocol/session/preamble_seeker.hpp"
#include "protocol/wire/limits.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <string_view>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace host::machine {
namespace {

using protocol::Kind;
using protocol::Result;
using protocol::UniqueFd;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr char check_name[] = "capsule";
// Just outside the range that runs use.
constexpr uid_t machine_uid = model::defaults::uid_first + model::defaults::uid_count;

// Not /tmp: systemd may give libvirtd one of its own.
constexpr char scratch_parent[] = "/var/tmp";
constexpr std::string_view scratch_prefix = "capsule-doctor-";

// A state folder of its own, so that no daemon takes the machine for one of its runs. Removed with
// it; what an interrupted check left is removed by the next one: a folder in use is locked.
class ScratchFolder {
  public:
    static Result<ScratchFolder> make() {
        remove_stale();
        std::string path = fmt::format("{}/{}XXXXXX", scratch_parent, scratch_prefix);
        // 0711: the machine's uid must reach its disk.
        if (mkdtemp(path.data()) == nullptr || chmod(path.c_str(), 0711) != 0) {
            return protocol::fail(protocol::Failure::from_errno("making " + path, errno));
        }
        return ScratchFolder(path, lock(path));
    }
    ScratchFolder(ScratchFolder&& other) noexcept
        : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
    ScratchFolder& operator=(ScratchFolder&&) = delete;
    ~ScratchFolder() {
        std::error_code error;
        if (!path_.empty()) std::filesystem::remove_all(path_, error);
    }
    const std::string& path() const { return path_; }

  private:
    ScratchFolder(std::string path, UniqueFd held)
        : path_(std::move(path)), lock_(std::move(held)) {}

    // Empty when somebody else has it.
    static UniqueFd lock(const std::string& path) {
        UniqueFd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (folder && flock(folder.get(), LOCK_EX | LOCK_NB) != 0) folder.reset();
        return folder;
    }
    static void remove_stale() {
        std::error_code error;
        std::vector<std::string> stale;
        for (std::filesystem::directory_iterator entry(scratch_parent, error), end;
             !error && entry != end; entry.increment(error)) {
            // Anybody may make folders there; only root's own are ours.
            struct stat status {};
            const std::string& path = entry->path().native();
            if (entry->path().filename().native().starts_with(scratch_prefix) &&
                lstat(path.c_str(), &status) == 0 && status.st_uid == geteuid() && lock(path)) {
                stale.push_back(path);
            }
        }
        for (const auto& path : stale) std::filesystem::remove_all(path, error);
    }

    std::string path_;
    UniqueFd lock_;
};

Result<UniqueFd> connect(const sandbox::MachineSpec& spec, const sandbox::Machine& machine) {
    if (spec.transport == sandbox::Transport::serial) {
        return protocol::connect_unix(spec.serial_socket.value);
    }
    if (!machine.cid)
        return protocol::fail(Kind::unavailable, "libvirt gave the machine no vsock address");
    return protocol::connect_vsock(*machine.cid, protocol::limits::vsock_port);
}

// One attempt: our preamble out, the same bytes back. False: the connection broke, try again.
bool exchange_preambles(int fd, Clock::time_point deadline) {
    protocol::Nonce nonce{};
    if (getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size()))
        return false;
    const std::string greeting = protocol::encode_preamble(nonce);
    protocol::PreambleSeeker seeker(nonce);
    bool sent = false;
    while (Clock::now() < deadline) {
        pollfd entry{fd, static_cast<short>(sent ? POLLIN : POLLOUT), 0};
        if (poll(&entry, 1, 200) <= 0) continue;
        if (!sent) {
            // 16 bytes into an empty socket: all or nothing.
            if (write(fd, greeting.data(), greeting.size()) < 0) return false;
            sent = true;
            continue;
        }
        std::array<char, 4'096> buffer{};
        const ssize_t count = read(fd, buffer.data(), buffer.size());
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return false;
        if (count > 0) seeker.feed({buffer.data(), static_cast<std::size_t>(count)});
        if (seeker.find()) return true;
    }
    return false;
}

bool agent_answers(const sandbox::MachineSpec& spec, const sandbox::Machine& machine,
                   Clock::time_point deadline) {
    while (Clock::now() < deadline) {
        const auto fd = connect(spec, machine);
        if (fd && exchange_preambles(fd->get(), deadline)) return true;
        poll(nullptr, 0, 100);  // vsock refuses until the agent listens
    }
    return false;
}

sandbox::MachineSpec describe(const protocol::RunId& run, const sandbox::BootImage& image,
                              const sandbox::RunFolder& folder, sandbox::Accelerator accelerator,
                              sandbox::Transport transport) {
    sandbox::MachineSpec spec(run);
    spec.memory_bytes = model::defaults::memory_bytes;
    spec.accelerator = accelerator;
    spec.transport = transport;
    spec.kernel = image.kernel;
    spec.initrd = image.initrd;
    spec.overlay = folder.overlay;
    spec.console_log = folder.console_log;
    spec.serial_socket = folder.serial_socket;
    spec.kernel_command_line =
        fmt::format("console=ttyS0 quiet panic=-1 capsule.transport={}",
                    transport == sandbox::Transport::vsock ? "vsock" : "serial");
    spec.uid = machine_uid;
    return spec;
}

Result<std::string> boot(const DoctorOptions& options, sandbox::Accelerator accelerator,
                         sandbox::Transport transport) {
    TRY(const auto scratch, ScratchFolder::make());
    storage::LocalDisks disks(scratch.path(), options.images, options.image);
    TRY_VOID(disks.prepare());
    TRY(const auto image, disks.image(""));
    TRY_VOID(disks.verify(image));
    const auto run = protocol::RunId::random();
    TRY_VOID(disks.create(run, image, 0, machine_uid));
    auto spec = describe(run, image, disks.layout(run), accelerator, transport);
    storage::VfsFolders folders(scratch.path() + "/vfs");
    TRY_VOID(folders.create("doctor"));
    sandbox::SharedFolder share;
    share.tag = "vfs0";
    TRY(share.source, disks.prepare_vfs(run, "doctor", share.tag, false));
    spec.folders.push_back(std::move(share));

    TRY(const auto hypervisor,
        libvirt::connect("qemu:///system", protocol::InstallationId::random(),
                         libvirt::MachineLifetime::of_connection));
    const auto start = Clock::now();
    TRY(const auto machine, hypervisor->start(spec));
    const auto created = Clock::now();
    // A whole Debian boots, and virtiofsd starts: more than the guest that tries KVM out.
    const bool kvm = accelerator == sandbox::Accelerator::kvm;
    const std::chrono::seconds limit = kvm ? options.kvm_patience + 12s : 60s;
    const bool answered = agent_answers(spec, machine, start + limit);
    const auto end = Clock::now();
    auto destroyed = hypervisor->destroy(run);
    if (!answered) {
        return protocol::fail(
            Kind::timed_out,
            fmt::format("a machine was started, but its agent did not answer within {} s",
                        limit.count()));
    }
    if (!destroyed)
        return protocol::fail(std::move(destroyed).error().context("removing the machine"));
    const std::chrono::duration<double> total = end - start;
    const std::chrono::duration<double> creating = created - start;
    return fmt::format(
        "a machine booted and its agent answered after {:.1f} s ({:.1f} s of it in libvirt)",
        total.count(), creating.count());
}

}  // namespace

Check check_capsule(const DoctorOptions& options, const AcceleratorReport& accelerator,
                    const TransportReport& transport) {
    auto booted = boot(options, accelerator.accelerator, transport.transport);
    if (booted) return passed(check_name, std::move(*booted));
    return failed(
        check_name, booted.error().describe(),
        "mend what failed above first; else /var/log/libvirt/qemu and libvirtd's log say more");
}

}  // namespace host::machine
