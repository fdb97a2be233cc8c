#pragma once
// What the daemon remembers, one struct per table of its database. Plain values. Wall-clock times
// are for display only (Unix milliseconds); what decides is `deadline`, an instant of
// CLOCK_BOOTTIME that is valid under the host boot id stored with it.

#include "host/model/definition.hpp"
#include "host/model/lifecycle.hpp"
#include "protocol/base/ids.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace host::model {

using UnixMillis = std::int64_t;

struct NamespaceRecord {
    std::string name;
    UnixMillis created_at{};
    std::string image = {};  // of capsules that name none; "" = the host's
};

struct VfsRecord {
    QualifiedName name;
    std::string
        folder;  // name of its folder below the VFS root: a random UUID, never the user's name
    UnixMillis created_at{};
};

struct SecretRecord {
    QualifiedName name;
    std::string sealed;  // nonce + ciphertext
    UnixMillis created_at{}, updated_at{};
};

struct CapsuleRecord {
    QualifiedName name;
    Definition definition;
    std::string source;  // the .mtr text as deployed
    UnixMillis created_at{}, updated_at{};
};

struct RunRecord {
    explicit RunRecord(protocol::RunId run) : id(std::move(run)) {}
    protocol::RunId id;
    QualifiedName capsule;  // namespace and capsule name at start
    Definition definition;  // as it was at start
    RunStatus status = RunStatus::starting;
    RunPhase phase = RunPhase::none;
    std::string failure_details;  // why Error; also why Terminated / Finished at the deadline
    std::string started_by;       // principal: "local" (Unix socket), "key:<id>", "run:<id>"
    std::string accelerator, transport;  // what it runs on: "tcg", "kvm"; "vsock", "serial"
    UnixMillis created_at{};
    std::optional<UnixMillis> ready_at, ended_at;
    std::string host_boot_id;
    std::int64_t deadline_boottime_ms{};
    // ---- what must be undone: stored before it is created ----
    std::uint32_t uid{};        // QEMU's uid for this run
    std::string agent_boot_id;  // the agent's, once heard
    std::uint32_t cid{};        // vsock CID when known, else 0
    // When the run is ending: the status it will have (recovery finishes the job).
    std::optional<RunStatus> pending_status;
};

struct OutputRecord {
    std::string window;  // UTF-8, at most 65,536 characters
    std::uint64_t characters{};
};

struct CommandRecord {
    CommandRecord(protocol::CommandId own_id, protocol::RunId of_run)
        : id(std::move(own_id)), run(std::move(of_run)) {}
    protocol::CommandId id;
    protocol::RunId run;
    std::uint64_t sequence{};  // order of submission within the run, from 1
    bool startup = false;      // a recipe's own command: not listed, output not kept
    // ---- the request ----
    std::string command;
    std::vector<std::string> arguments;
    std::string run_as_user;
    std::optional<std::uint64_t> max_duration_ms;
    bool async = false, input = false, hold_output = false;
    std::optional<std::string> input_text;  // the whole standard input; dropped when it has ended
    std::optional<std::uint16_t> terminal_rows, terminal_columns;
    std::vector<Variable> environment;
    std::string working_directory;
    // ---- the result ----
    CommandStatus status = CommandStatus::queued;
    EndReason end_reason = EndReason::none;
    std::optional<std::int32_t> exit_code;
    std::string reason;  // a sentence for Aborted, failedToStart, timedOut...
    OutputRecord output, error;
    bool output_open = false;  // late output may still come
    std::optional<std::uint64_t> run_time_ms, peak_memory_bytes;
    UnixMillis created_at{};
    std::optional<UnixMillis> started_at, ended_at;
};

struct EventRecord {
    std::uint64_t id{};  // increases over restarts
    std::string space;   // namespace
    std::string
        type;  // "run.started", "run.phase", "run.ended", "command.started", "command.ended"...
    std::string data;  // JSON text
    UnixMillis at{};
};

struct ApiKeyRecord {
    std::string id;
    std::string hash;                     // of the key; the key itself is shown once and not kept
    std::vector<std::string> namespaces;  // empty: all
    std::string label;
    UnixMillis created_at{};
};

}  // namespace host::model
