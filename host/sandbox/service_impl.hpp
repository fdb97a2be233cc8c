#pragma once
// ServiceImpl: the service over the database, the hypervisor and the runs' supervisors. One object
// per daemon; see service.hpp for what its calls do and parts.hpp for what it is made of. Split by
// subject: service_access.cpp, service_definitions.cpp, service_deploy.cpp, service_images.cpp,
// service_runs.cpp, service_commands.cpp, service_events.cpp (with keys and the host's report),
// service_recovery.cpp. Loop thread only.

#include "host/sandbox/core.hpp"
#include "host/sandbox/run_supervisor.hpp"
#include "host/sandbox/service.hpp"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace host::sandbox {

class ServiceImpl final : public Service, public std::enable_shared_from_this<ServiceImpl> {
  public:
    explicit ServiceImpl(Parts parts);
    ~ServiceImpl() override;

    // Makes the default namespace, takes over what an earlier daemon has left, and goes on with
    // that as soon as libvirt can be asked. Called once, before anything else.
    Result<void> open();
    // Runs wait for it. A failure ends them with its text.
    void set_platform(Result<Platform> platform);
    // From the hypervisor's observers, on the loop thread.
    void on_machine_event(const MachineEvent& event);
    void on_machine_paused(const RunId& id, bool paused);
    void on_reconnect();
    // Leaves runs alive and returns when nothing of the service is at work any more.
    boost::asio::awaitable<void> close();

    // ---- Service ----
    Result<std::vector<model::NamespaceRecord>> namespaces(const Principal&) override;
    Result<model::NamespaceRecord> create_namespace(const Principal&, std::string name) override;
    Async<void> delete_namespace(Principal, std::string name) override;
    Result<std::vector<model::VfsRecord>> vfs_list(const Principal&, std::string space) override;
    Result<model::VfsRecord> vfs(const Principal&, model::QualifiedName name) override;
    Async<model::VfsRecord> create_vfs(Principal, model::QualifiedName name) override;
    Async<void> delete_vfs(Principal, model::QualifiedName name) override;
    Result<std::vector<model::SecretRecord>> secrets(const Principal&, std::string space) override;
    Result<model::SecretRecord> set_secret(const Principal&, model::QualifiedName name,
                                           std::string value) override;
    Result<void> delete_secret(const Principal&, model::QualifiedName name) override;
    Result<DeployOutcome> deploy(const Principal&, std::string space,
                                 std::vector<SourceFile> files) override;
    Result<std::vector<model::CapsuleRecord>> capsules(const Principal&,
                                                       std::string space) override;
    Result<model::CapsuleRecord> capsule(const Principal&, model::QualifiedName name) override;
    Result<void> delete_capsule(const Principal&, model::QualifiedName name) override;

    Async<std::vector<ImageInfo>> images(Principal) override;
    Async<ImageInfo> image(Principal, std::string name) override;
    Async<ImageInfo> delete_image(Principal, std::string name) override;
    Async<model::NamespaceRecord> set_default_image(Principal, std::string space,
                                                    std::string image) override;

    Result<model::RunRecord> start(const Principal&, model::QualifiedName capsule,
                                   std::string idempotency_key) override;
    Result<PageOf<model::RunRecord>> runs(const Principal&, RunFilter filter, Page page) override;
    Result<model::RunRecord> run(const Principal&, const protocol::RunId& id) override;
    Async<model::RunRecord> wait_run(Principal, protocol::RunId id, Until until,
                                     std::chrono::milliseconds limit) override;
    Async<model::RunRecord> terminate(Principal, protocol::RunId id) override;
    Async<std::string> console_log(Principal, protocol::RunId id) override;
    Async<std::chrono::nanoseconds> ping(Principal, protocol::RunId id) override;

    Result<model::CommandRecord> exec(const Principal&, const protocol::RunId& run,
                                      CommandRequest request, std::string idempotency_key) override;
    Result<PageOf<model::CommandRecord>> commands(const Principal&, const protocol::RunId& run,
                                                  Page page) override;
    Async<model::CommandRecord> command(Principal, protocol::RunId run,
                                        protocol::CommandId id) override;
    Async<model::CommandRecord> wait_command(Principal, protocol::RunId run, protocol::CommandId id,
                                             std::chrono::milliseconds limit) override;
    Async<model::CommandRecord> kill_command(Principal, protocol::RunId run, protocol::CommandId id,
                                             int signal) override;
    Async<void> resize_command(Principal, protocol::RunId run, protocol::CommandId id,
                               protocol::TerminalSize size) override;
    Async<std::shared_ptr<Follower>> follow(Principal, protocol::RunId run, protocol::CommandId id,
                                            std::uint64_t output_from, std::uint64_t error_from,
                                            bool lossless) override;
    Async<std::shared_ptr<InputSink>> input(Principal, protocol::RunId run, protocol::CommandId id,
                                            std::uint64_t from) override;

    Async<std::vector<model::EventRecord>> events(Principal, std::uint64_t after,
                                                  std::chrono::milliseconds limit) override;
    std::uint64_t last_event_id() override;
    Result<std::pair<model::ApiKeyRecord, std::string>> create_key(
        const Principal&, std::string label, std::vector<std::string> namespaces) override;
    Result<std::vector<model::ApiKeyRecord>> keys(const Principal&) override;
    Result<void> delete_key(const Principal&, std::string id) override;
    Result<Principal> authenticate(std::string key) override;
    Async<boost::json::object> host_report() override;

  private:
    // What a principal may do now, looked up at each request: a key may have been deleted, a run
    // ended.
    struct Rights {
        Rights() = default;
        std::vector<std::string> namespaces;  // empty: all
        bool may_administer = false;
        bool may_see(const std::string& space) const;
    };
    Result<Rights> rights_of(const Principal& principal);
    Result<Rights> rights_by_name(const std::string& principal, bool may_administer);
    // Valid name, existing, permitted.
    Result<void> check_space(const Principal& principal, const std::string& space);
    Result<void> check_name(const Principal& principal, const model::QualifiedName& name);
    // not_found also where it may not be seen.
    Result<model::RunRecord> find_run(const Principal& principal, const RunId& id);

    Result<void> check_room(const Principal& principal, const model::Definition& definition);
    Result<void> check_references(const Rights& rights, const model::Definition& definition);
    Result<std::uint32_t> free_uid();
    bool is_mounted(const model::QualifiedName& vfs) const;
    // What a start of this capsule boots from now.
    Result<BootImage> image_of(const model::CapsuleRecord& capsule);
    // Why the image cannot be deleted, if something needs it.
    Result<void> check_unused(const ImageInfo& image);
    Result<model::RunRecord> create_run(const Principal& principal,
                                        const model::CapsuleRecord& capsule,
                                        const std::string& image_version,
                                        const std::optional<journal::IdempotencyRecord>& key);

    Result<void> check_request(const CommandRequest& request) const;
    Result<std::shared_ptr<RunSupervisor>> live_run(const Principal& principal, const RunId& id);
    // The agent of a live run, and its command once the agent runs it.
    struct Running {
        Running() = default;
        std::shared_ptr<RunSupervisor> run;
        std::shared_ptr<LiveCommand> command;
        std::shared_ptr<Guest> guest;
    };
    Async<Running> running_command(Principal principal, RunId run, protocol::CommandId id);

    std::vector<Diagnostic> missing_references(const Rights& rights, const SourceFile& file,
                                               const std::string& space);
    boost::asio::awaitable<void> recover(std::shared_ptr<ServiceImpl> self);
    boost::asio::awaitable<void> reconcile(std::shared_ptr<ServiceImpl> self);
    boost::asio::awaitable<void> remove_strays(std::vector<Machine> machines);
    boost::asio::awaitable<void> remove_loose_folders(std::vector<std::string> folders);
    boost::asio::awaitable<void> remove_run_folder(RunId id);

    std::shared_ptr<Core> core_;
    journal::Database& database_;
    std::unique_ptr<Alarm> second_look_;
    // Names whose creation or deletion is on a worker right now.
    std::set<model::QualifiedName> busy_vfs_;
    // Versions that are being deleted on a worker.
    std::set<std::string> doomed_images_;
};

}  // namespace host::sandbox
