#pragma once
// Service: everything a client may ask for, in terms of records. The API, and nothing else, calls
// it. One loop thread owns all state; blocking work goes to a pool. Errors are typed failures with
// stable codes (docs/api.md lists them). Principals are checked here, at each request.

#include "host/model/records.hpp"
#include "host/sandbox/disks.hpp"
#include "host/sandbox/guest.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

namespace host::sandbox {

// Who asks. The Unix socket's peers are "local" (equal to root); a run's inside `mt` acts with the
// rights of whoever started the run while that run lives.
struct Principal {
    Principal() = default;
    std::string name = "local";           // "local", "key:<id>", "run:<id>"
    std::vector<std::string> namespaces;  // empty: all
    std::string default_namespace = "default";
    bool may_administer = true;  // keys; false over TCP keys with scopes and from inside runs
    std::optional<protocol::RunId> inside;  // set for run:<id>
};

struct Page {
    Page() = default;
    std::size_t limit = 100;  // 1..1000
    std::string after;        // opaque cursor; "" = from the newest
};
template <typename T>
struct PageOf {
    std::vector<T> items;
    std::string next;  // "" = no more
};

struct SourceFile {
    SourceFile() = default;
    std::string path;  // relative, as the client names it: "capsules/sales-report.mtr"
    std::string content;
};
struct DeployReport {
    DeployReport() = default;
    std::vector<std::string> created, updated, unchanged;  // capsule names
    std::vector<std::string> skipped;  // "apps/analyst/analyst.mtc: apps are not supported yet"
};
// One finding of a refused deploy.
struct Diagnostic {
    Diagnostic() = default;
    std::string file;
    std::size_t line = 0, column = 0;  // from 1; 0 = whole file
    std::string name;                  // property or reference it is about
    std::string message;
};
// Deploy fails with kind invalid_argument, code "definition-invalid", and these.
struct DeployOutcome {
    DeployReport report;
    std::vector<Diagnostic> diagnostics;  // not empty: nothing was changed
};

struct CommandRequest {
    CommandRequest() = default;
    std::string command;
    std::vector<std::string> arguments;
    std::string run_as_user;
    std::optional<std::uint64_t> max_duration_ms;
    bool async = false, input = false, hold_output = false;
    std::optional<std::string> input_text;  // all of the input, end of file after it; implies input
    std::optional<protocol::TerminalSize> terminal;
    std::vector<model::Variable> environment;
    std::string working_directory;
};

enum class Until : std::uint8_t { started, ended };

struct RunFilter {
    RunFilter() = default;
    std::string space;  // "" = all the principal may see
    std::optional<model::RunStatus> status;
    bool live_only = false;
};

class Service {
  public:
    virtual ~Service() = default;
    template <typename T>
    using Async = sandbox::Async<T>;

    // ---- namespaces, VFS, secrets, capsules ----
    virtual Result<std::vector<model::NamespaceRecord>> namespaces(const Principal&) = 0;
    virtual Result<model::NamespaceRecord> create_namespace(const Principal&, std::string name) = 0;
    virtual Async<void> delete_namespace(Principal,
                                         std::string name) = 0;  // must be empty and idle

    virtual Result<std::vector<model::VfsRecord>> vfs_list(const Principal&, std::string space) = 0;
    virtual Result<model::VfsRecord> vfs(const Principal&, model::QualifiedName name) = 0;
    virtual Async<model::VfsRecord> create_vfs(Principal, model::QualifiedName name) = 0;
    virtual Async<void> delete_vfs(Principal,
                                   model::QualifiedName name) = 0;  // conflict while mounted

    virtual Result<std::vector<model::SecretRecord>> secrets(
        const Principal&, std::string space) = 0;  // sealed left empty
    virtual Result<model::SecretRecord> set_secret(const Principal&, model::QualifiedName name,
                                                   std::string value) = 0;
    virtual Result<void> delete_secret(const Principal&, model::QualifiedName name) = 0;

    virtual Result<DeployOutcome> deploy(const Principal&, std::string space,
                                         std::vector<SourceFile> files) = 0;
    virtual Result<std::vector<model::CapsuleRecord>> capsules(const Principal&,
                                                               std::string space) = 0;
    virtual Result<model::CapsuleRecord> capsule(const Principal&, model::QualifiedName name) = 0;
    virtual Result<void> delete_capsule(const Principal&, model::QualifiedName name) = 0;

    // ---- images ----
    // The host's, the same for all namespaces. A name is a version's or stands for the current one.
    virtual Async<std::vector<ImageInfo>> images(Principal) = 0;
    virtual Async<ImageInfo> image(Principal, std::string name) = 0;
    // conflict "in-use" while a live run or the default of a namespace needs it.
    virtual Async<ImageInfo> delete_image(Principal, std::string name) = 0;
    // Of the namespace's capsules that name none; "" = the host's again.
    virtual Async<model::NamespaceRecord> set_default_image(Principal, std::string space,
                                                            std::string image) = 0;

    // ---- runs ----
    // Returns at once with status Starting. `idempotency_key` "" = none; the same key and capsule
    // gives the same run.
    virtual Result<model::RunRecord> start(const Principal&, model::QualifiedName capsule,
                                           std::string idempotency_key) = 0;
    virtual Result<PageOf<model::RunRecord>> runs(const Principal&, RunFilter filter,
                                                  Page page) = 0;
    virtual Result<model::RunRecord> run(const Principal&, const protocol::RunId& id) = 0;
    // Returns when the condition holds, or after `limit` with the record as it is then.
    virtual Async<model::RunRecord> wait_run(Principal, protocol::RunId id, Until until,
                                             std::chrono::milliseconds limit) = 0;
    // Returns when the run has its terminal status (at most a few seconds). Stopping twice is
    // success.
    virtual Async<model::RunRecord> terminate(Principal, protocol::RunId id) = 0;
    virtual Async<std::string> console_log(Principal, protocol::RunId id) = 0;
    // How long a question to the agent and its answer take.
    virtual Async<std::chrono::nanoseconds> ping(Principal, protocol::RunId id) = 0;

    // ---- commands ----
    virtual Result<model::CommandRecord> exec(const Principal&, const protocol::RunId& run,
                                              CommandRequest request,
                                              std::string idempotency_key) = 0;
    virtual Result<PageOf<model::CommandRecord>> commands(const Principal&,
                                                          const protocol::RunId& run,
                                                          Page page) = 0;
    // Asks the agent for late output first where that is possible.
    virtual Async<model::CommandRecord> command(Principal, protocol::RunId run,
                                                protocol::CommandId id) = 0;
    virtual Async<model::CommandRecord> wait_command(Principal, protocol::RunId run,
                                                     protocol::CommandId id,
                                                     std::chrono::milliseconds limit) = 0;
    // number 9 ends the whole tree (endReason killed, 137); others go to the process group. A
    // queued command is canceled.
    virtual Async<model::CommandRecord> kill_command(Principal, protocol::RunId run,
                                                     protocol::CommandId id, int signal) = 0;
    virtual Async<void> resize_command(Principal, protocol::RunId run, protocol::CommandId id,
                                       protocol::TerminalSize size) = 0;
    // Waits until the command has been started (or is over: conflict "command-ended" when nothing
    // can be followed any more).
    virtual Async<std::shared_ptr<Follower>> follow(Principal, protocol::RunId run,
                                                    protocol::CommandId id,
                                                    std::uint64_t output_from,
                                                    std::uint64_t error_from, bool lossless) = 0;
    virtual Async<std::shared_ptr<InputSink>> input(Principal, protocol::RunId run,
                                                    protocol::CommandId id, std::uint64_t from) = 0;

    // ---- events ----
    // Events with id > after that the principal may see, waiting up to `limit` for the first.
    virtual Async<std::vector<model::EventRecord>> events(Principal, std::uint64_t after,
                                                          std::chrono::milliseconds limit) = 0;
    virtual std::uint64_t last_event_id() = 0;

    // ---- keys ----
    // Returns the record and the key itself, shown this once.
    virtual Result<std::pair<model::ApiKeyRecord, std::string>> create_key(
        const Principal&, std::string label, std::vector<std::string> namespaces) = 0;
    virtual Result<std::vector<model::ApiKeyRecord>> keys(const Principal&) = 0;
    virtual Result<void> delete_key(const Principal&, std::string id) = 0;
    virtual Result<Principal> authenticate(std::string key) = 0;

    // What this host runs on, for GET /v1/host: accelerator and why, transport, limits, versions.
    virtual Async<boost::json::object> host_report() = 0;
};

}  // namespace host::sandbox
