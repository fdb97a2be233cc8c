#pragma once
// Parts: what the service is made of. main.cpp fills it with the real things, unit tests with
// fakes. Everything referred to outlives the service.

#include "host/journal/database.hpp"
#include "host/model/defaults.hpp"
#include "host/model/records.hpp"
#include "host/sandbox/clock.hpp"
#include "host/sandbox/disks.hpp"
#include "host/sandbox/guest.hpp"
#include "host/sandbox/hypervisor.hpp"
#include "host/sandbox/workers.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/json/object.hpp>

namespace host::sandbox {

// What machines run on, once it has been found out.
struct Platform {
    Platform() = default;
    Accelerator accelerator{};
    Transport transport{};
    std::string accelerator_reason, transport_reason;  // one sentence each, for users
};

// The operator's choices; defaults are model/defaults.hpp's.
struct Settings {
    Settings() = default;
    std::uint64_t memory_bytes = model::defaults::memory_bytes;
    std::uint32_t cpus = model::defaults::cpus;
    std::uint32_t live_runs = model::defaults::live_runs;
    std::uint32_t child_runs = model::defaults::child_runs;
    std::uint64_t host_memory_reserve_bytes = model::defaults::host_memory_reserve_bytes;
    std::uint64_t host_disk_reserve_bytes = model::defaults::host_disk_reserve_bytes;
    std::int64_t ended_runs_retention_ms =
        std::chrono::milliseconds(model::defaults::ended_runs_retention).count();
    std::uint32_t ended_runs_kept = model::defaults::ended_runs_kept;
    std::uint64_t stored_output_bytes = model::defaults::stored_output_bytes;
    std::uint32_t uid_first = model::defaults::uid_first;
    std::uint32_t uid_count = model::defaults::uid_count;
};

struct HostMemory {
    HostMemory() = default;
    std::uint64_t total_bytes{}, available_bytes{};
};

// Secrets and keys, so that the service needs no cryptography of its own.
struct Vault {
    Vault() = default;
    std::function<std::string(std::string_view name, std::string_view value)> seal;
    std::function<Result<std::string>(std::string_view name, std::string_view sealed)> open;
    // One way, for API keys (which are long and random).
    std::function<std::string(std::string_view text)> hash;
    std::function<std::string()> random_key;
};

// What a sealed secret is bound to.
inline std::string secret_label(const model::QualifiedName& name) {
    return name.space + "/" + name.name;
}

// Folders of VFS; blocking, called on a worker.
struct VfsStore {
    VfsStore() = default;
    std::function<Result<void>(const std::string&folder)> create, remove;
};

// A connection that was opened from inside a run.
using TunnelHandler =
    std::function<void(const model::RunRecord& run, const protocol::Tunnel& tunnel,
                       std::shared_ptr<TunnelStream> stream)>;

struct Parts {
    explicit Parts(boost::asio::any_io_executor loop) : executor(std::move(loop)) {}
    boost::asio::any_io_executor executor;  // the loop thread
    journal::Database* database = nullptr;
    Hypervisor* hypervisor = nullptr;
    Disks* disks = nullptr;
    Workers* workers = nullptr;
    Clock* clock = nullptr;
    GuestFactory guests;
    Vault vault;
    VfsStore vfs;
    std::function<HostMemory()> memory;
    // Death of a process of the host: calls back once on the loop thread, unless the returned
    // handle is destroyed first.
    std::function<std::unique_ptr<Alarm>(pid_t pid, std::function<void()> died)> watch_process;
    TunnelHandler api_tunnel, egress_tunnel;  // may be empty: such connections are refused
    std::function<boost::json::object()> describe_host;  // versions, image: for GET /v1/host
    Settings settings;
};

}  // namespace host::sandbox
