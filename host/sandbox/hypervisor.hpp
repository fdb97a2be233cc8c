#pragma once
// Hypervisor: the only thing the service knows of libvirt. Speaks in our types; implemented by
// host/libvirt, by a fake in unit tests. All calls block and are made from a worker pool, several
// at once; the observer is called from a thread of the implementation's own and must only copy and
// post.

#include "host/model/defaults.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <variant>
#include <vector>

namespace host::sandbox {

using protocol::Result;
using protocol::RunId;

enum class Accelerator : std::uint8_t { tcg, kvm };
enum class Transport : std::uint8_t { serial, vsock };
std::string_view to_string(Accelerator accelerator);
std::string_view to_string(Transport transport);

// Bytes of host memory that a run takes beside its machine's own.
inline std::uint64_t run_memory_overhead(Accelerator accelerator) {
    using namespace model::defaults;
    return run_memory_overhead_bytes +
           (accelerator == Accelerator::tcg ? translation_cache_bytes : 0);
}

// A path on the host. Its own type because mixing it with a guest path is this project's most
// dangerous mistake.
struct HostPath {
    HostPath() = default;
    explicit HostPath(std::string path) : value(std::move(path)) {}
    std::string value;
};

struct SharedFolder {
    SharedFolder() = default;
    std::string tag;  // virtiofs tag, chosen by us: "vfs0", "vfs1"...
    HostPath source;  // already a read-only bind mount where read-only was asked
};

struct MachineSpec {
    explicit MachineSpec(RunId id) : run(std::move(id)) {}
    RunId run;
    std::uint64_t memory_bytes{};
    std::uint32_t cpus = 1;
    Accelerator accelerator{};
    Transport transport{};
    HostPath kernel, initrd, overlay, console_log;
    HostPath serial_socket;  // transport serial: where QEMU shall create its Unix socket
    std::string kernel_command_line;
    std::vector<SharedFolder> folders;
    uid_t uid{};  // QEMU runs as this, group libvirt-qemu
};

// The process that serves one of a machine's folders.
struct FolderServer {
    FolderServer() = default;
    FolderServer(pid_t process, std::size_t index) : pid(process), folder(index) {}
    bool operator==(const FolderServer&) const = default;
    pid_t pid{};
    std::size_t folder{};  // place in MachineSpec::folders
};

// A machine of this installation, as libvirt knows it.
struct Machine {
    explicit Machine(RunId id) : run(std::move(id)) {}
    RunId run;
    bool active = false;
    bool paused = false;  // active, and stands still until an administrator lets it go on
    std::optional<std::uint32_t> cid;
    std::vector<FolderServer> virtiofsd;  // the daemon watches these by pidfd
};

enum class MachineEnd : std::uint8_t { shut_down, crashed, destroyed, failed };
struct MachineEvent {
    explicit MachineEvent(RunId id) : run(std::move(id)) {}
    RunId run;
    MachineEnd end{};
    bool panicked = false;  // the guest's kernel
    std::string detail;     // why, where there is more to say than `end` does
};

class Hypervisor {
  public:
    virtual ~Hypervisor() = default;
    // Creates and starts a transient domain named capsule-<run id>, with run id and installation id
    // in its metadata. On failure nothing of it is left.
    virtual Result<Machine> start(const MachineSpec& spec) = 0;
    // Ends it at once; a machine that is already gone is success. Returns when QEMU and its
    // virtiofsd processes are gone.
    virtual Result<void> destroy(const RunId& run) = 0;
    // Machines of this installation only. `unavailable` when libvirt does not answer: then nothing
    // may be concluded about any run.
    virtual Result<std::vector<Machine>> list() = 0;
    virtual void observe(std::function<void(MachineEvent)> observer) = 0;
    // An administrator pauses a machine, or lets it go on (which every machine does once, before
    // its first instruction); so does its clock, from where it was.
    virtual void on_pause(std::function<void(RunId, bool paused)> observer) = 0;
    // Called after the connection to libvirt was lost and came back: the caller lists again.
    virtual void on_reconnect(std::function<void()> observer) = 0;
};

}  // namespace host::sandbox
