#pragma once
// Database: what the daemon remembers, in one SQLite file (WAL). One method per thing the service
// does with a record; records are host/model/records.hpp. Definitions, secrets, VFS, namespaces and
// keys are on the disk when the call returns (synchronous=FULL); runs, commands and events survive
// the death of the daemon but may lose their last changes in a power cut, which ends every run
// anyway.
//
// Threading: one owner, the loop thread; calls are short. Errors: io when SQLite refuses (full or
// damaged disk); conflict "already-exists" for a taken name; lookups of what is not there are
// nullopt or false, not failures.

#include "host/model/records.hpp"
#include "protocol/base/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace host::journal {

using protocol::CommandId;
using protocol::InstallationId;
using protocol::Result;
using protocol::RunId;

class Sqlite;
class Statement;

enum class Durability : std::uint8_t { process, disk };

class Database;

// Everything between begin() and commit() is stored together or not at all.
class Transaction {
  public:
    Transaction(Transaction&& other) noexcept;
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();  // rolls back what was not committed
    Result<void> commit();

  private:
    friend class Database;
    Transaction(Sqlite& sqlite, Durability durability)
        : sqlite_(&sqlite), durability_(durability) {}
    Sqlite* sqlite_;
    Durability durability_;
};

struct RunQuery {
    RunQuery() = default;
    std::vector<std::string> spaces;  // empty: all
    std::optional<model::RunStatus> status;
    bool live_only = false;
    std::optional<std::int64_t> below;  // cursor: rows older than this one
    std::size_t limit = 100;
};

// A row and its place in the order of creation, which cursors are made of.
template <typename T>
struct Numbered {
    std::int64_t number;
    T record;
};

struct IdempotencyRecord {
    IdempotencyRecord() = default;
    std::string scope, key;   // who and what; the client's key
    std::string fingerprint;  // of the request
    std::string target;       // id of the run or command that was made
    std::string run;          // the entry is forgotten together with this run
};

class Database {
  public:
    // Makes the file and its tables when missing. io "database-damaged" or unsupported
    // "database-newer" with what to do.
    static Result<Database> open(const std::string& path);
    Database(Database&&) noexcept;
    Database& operator=(Database&&) noexcept;
    ~Database();

    Result<Transaction> begin(Durability durability);

    // Random, made when the database was; names this installation in libvirt's metadata.
    const InstallationId& installation() const { return *installation_; }

    // ---- namespaces ----
    Result<std::vector<model::NamespaceRecord>> namespaces();
    Result<std::optional<model::NamespaceRecord>> find_namespace(const std::string& name);
    Result<void> insert_namespace(const model::NamespaceRecord& record);
    Result<void> set_namespace_image(const std::string& name, const std::string& image);
    // With its ended runs. The caller has made sure that it is empty.
    Result<void> delete_namespace(const std::string& name);
    // No VFS, secret or capsule in it.
    Result<bool> is_namespace_empty(const std::string& name);

    // ---- VFS ----
    Result<std::vector<model::VfsRecord>> vfs_list(const std::string& space);
    Result<std::optional<model::VfsRecord>> find_vfs(const model::QualifiedName& name);
    Result<void> insert_vfs(const model::VfsRecord& record);
    Result<bool> delete_vfs(const model::QualifiedName& name);
    // Folders without a record, to be removed at the next start if this one gets no further.
    Result<void> add_loose_folder(const std::string& folder);
    Result<void> remove_loose_folder(const std::string& folder);
    Result<std::vector<std::string>> loose_folders();

    // ---- secrets ----
    Result<std::vector<model::SecretRecord>> secrets(
        const std::string& space);  // sealed left empty
    Result<std::optional<model::SecretRecord>> find_secret(const model::QualifiedName& name);
    Result<void> put_secret(const model::SecretRecord& record);  // keeps an older created_at
    Result<bool> delete_secret(const model::QualifiedName& name);

    // ---- capsules ----
    Result<std::vector<model::CapsuleRecord>> capsules(const std::string& space);
    Result<std::optional<model::CapsuleRecord>> find_capsule(const model::QualifiedName& name);
    Result<void> put_capsule(const model::CapsuleRecord& record);  // keeps an older created_at
    Result<bool> delete_capsule(const model::QualifiedName& name);

    // ---- runs ----
    Result<void> insert_run(const model::RunRecord& record);
    Result<void> update_run(const model::RunRecord& record);  // what can change after the start
    Result<std::optional<model::RunRecord>> find_run(const RunId& id);
    Result<std::vector<model::RunRecord>> live_runs();  // without a published end
    // Newest first.
    Result<std::vector<Numbered<model::RunRecord>>> runs(const RunQuery& query);
    // Ended before `before`, or more than `keep` ended ones: the oldest first, at most 100.
    Result<std::vector<RunId>> runs_to_forget(model::UnixMillis before, std::size_t keep);
    Result<std::optional<RunId>> oldest_ended_run();
    // With its commands and idempotency keys.
    Result<void> forget_run(const RunId& id);

    // ---- commands ----
    Result<void> insert_command(const model::CommandRecord& record);
    Result<void> update_command(const model::CommandRecord& record);  // what can change
    Result<std::optional<model::CommandRecord>> find_command(const RunId& run, const CommandId& id);
    Result<std::vector<model::CommandRecord>> startup_commands(const RunId& run);
    // Queued or running, in order; without start-up commands.
    Result<std::vector<model::CommandRecord>> open_commands(const RunId& run);
    // Ended, and perhaps still in the agent's memory; with start-up commands.
    Result<std::vector<model::CommandRecord>> held_commands(const RunId& run);
    Result<void> set_held(const CommandId& id, bool held);
    // Newest first, without outputs and without start-up commands; `below` is a sequence.
    Result<std::vector<model::CommandRecord>> commands(const RunId& run,
                                                       std::optional<std::int64_t> below,
                                                       std::size_t limit);
    Result<std::uint64_t> last_sequence(const RunId& run);  // 0: none yet
    // Bytes of outputs stored, all commands together, and how to get below a bound: cuts the
    // outputs of the command that ended first. False: none is left.
    Result<std::uint64_t> stored_output_bytes();
    Result<bool> drop_oldest_output();

    // ---- idempotency ----
    Result<std::optional<IdempotencyRecord>> find_idempotent(const std::string& scope,
                                                             const std::string& key);
    Result<void> insert_idempotent(const IdempotencyRecord& record);

    // ---- events ----
    Result<std::uint64_t> append_event(const model::EventRecord& record);
    // `spaces` empty: all.
    Result<std::vector<model::EventRecord>> events_after(std::uint64_t after,
                                                         const std::vector<std::string>& spaces,
                                                         std::size_t limit);
    Result<std::uint64_t> last_event_id();
    Result<void> trim_events(std::uint64_t keep);

    // ---- API keys ----
    Result<void> insert_key(const model::ApiKeyRecord& record);
    Result<std::vector<model::ApiKeyRecord>> keys();
    Result<std::optional<model::ApiKeyRecord>> find_key(const std::string& id);
    Result<std::optional<model::ApiKeyRecord>> find_key_by_hash(const std::string& hash);
    Result<bool> delete_key(const std::string& id);

  private:
    explicit Database(std::unique_ptr<Sqlite> sqlite);
    Result<void> load_installation();
    // Runs one writing statement so that it is on the disk afterwards, unless a transaction is
    // open.
    Result<void> write_to_disk(Statement& statement);
    Result<bool> delete_named(const char* sql, const model::QualifiedName& name);

    std::unique_ptr<Sqlite> sqlite_;
    std::optional<InstallationId> installation_;
};

}  // namespace host::journal
