#pragma once
// FakeService: a small daemon in memory for the tests of the API. Loop thread only, like the real
// one; tests prepare it before the server starts or through Harness::on_loop().

#include "host/api/wake.hpp"
#include "host/sandbox/service.hpp"

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <set>

namespace host::api::testing {

using protocol::Failure;
using protocol::Kind;
using protocol::Result;
using sandbox::Principal;

// Hands out what it was given, then waits for more; close() ends a waiting read.
class FakeFollower final : public sandbox::Follower {
  public:
    explicit FakeFollower(boost::asio::any_io_executor loop) : arrived_(std::move(loop)) {}
    void push(Chunk::What what, std::string bytes = "", std::uint64_t offset = 0,
              protocol::Channel channel = protocol::Channel::output);
    void finish();
    sandbox::Async<std::optional<Chunk>> read() override;
    void close() override;

    std::size_t reads = 0;
    bool closed = false;

  private:
    std::deque<std::optional<Chunk>> queue_;
    Wake arrived_;
};

class FakeInput final : public sandbox::InputSink {
  public:
    sandbox::Async<void> write(std::string bytes) override;
    sandbox::Async<void> close() override;
    std::string taken;
    bool closed = false;
};

class FakeService final : public sandbox::Service {
  public:
    explicit FakeService(boost::asio::any_io_executor loop);

    // ---- what tests set and look at ----
    std::optional<Failure> refuse;  // every call fails with this
    std::map<std::string, Principal> known_keys;
    std::map<std::string, std::string> vfs_folders;  // VFS name -> folder below the root
    std::vector<model::RunRecord> run_records;
    std::vector<model::CommandRecord> command_records;
    std::vector<model::EventRecord> event_records;
    sandbox::DeployOutcome deploy_outcome;
    std::vector<sandbox::SourceFile> deployed;
    std::map<std::string, std::string> secret_values;
    std::optional<sandbox::CommandRequest> last_command;
    std::string last_idempotency_key;
    sandbox::Page last_page;
    sandbox::RunFilter last_filter;
    std::uint64_t follow_output_from = 0, follow_error_from = 0, input_from = 0;
    bool follow_lossless = false;
    std::shared_ptr<FakeFollower> follower;
    std::shared_ptr<FakeInput> input_sink;
    std::vector<int> signals;
    std::optional<protocol::TerminalSize> size;
    // Shared with the coroutines that count, some of which end with the loop, after this object.
    struct Counts {
        std::atomic<int> waiting = 0, cancelled = 0;
    };
    std::shared_ptr<Counts> counts = std::make_shared<Counts>();
    int waiting() const { return counts->waiting; }
    int cancelled() const { return counts->cancelled; }
    Wake changed;  // wakes those who wait for a run, a command or an event

    void end_run();
    void end_command(int exit_code);

    // ---- Service ----
    template <typename T>
    using Async = sandbox::Async<T>;
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
    Result<sandbox::DeployOutcome> deploy(const Principal&, std::string space,
                                          std::vector<sandbox::SourceFile> files) override;
    Result<std::vector<model::CapsuleRecord>> capsules(const Principal&,
                                                       std::string space) override;
    Result<model::CapsuleRecord> capsule(const Principal&, model::QualifiedName name) override;
    Result<void> delete_capsule(const Principal&, model::QualifiedName name) override;
    Async<std::vector<sandbox::ImageInfo>> images(Principal) override;
    Async<sandbox::ImageInfo> image(Principal, std::string name) override;
    Async<sandbox::ImageInfo> delete_image(Principal, std::string name) override;
    Async<model::NamespaceRecord> set_default_image(Principal, std::string space,
                                                    std::string image) override;
    Result<model::RunRecord> start(const Principal&, model::QualifiedName capsule,
                                   std::string key) override;
    Result<sandbox::PageOf<model::RunRecord>> runs(const Principal&, sandbox::RunFilter filter,
                                                   sandbox::Page page) override;
    Result<model::RunRecord> run(const Principal&, const protocol::RunId& id) override;
    Async<model::RunRecord> wait_run(Principal, protocol::RunId id, sandbox::Until until,
                                     std::chrono::milliseconds limit) override;
    Async<model::RunRecord> terminate(Principal, protocol::RunId id) override;
    Async<std::string> console_log(Principal, protocol::RunId id) override;
    Async<std::chrono::nanoseconds> ping(Principal, protocol::RunId id) override;
    Result<model::CommandRecord> exec(const Principal&, const protocol::RunId& run,
                                      sandbox::CommandRequest request, std::string key) override;
    Result<sandbox::PageOf<model::CommandRecord>> commands(const Principal&,
                                                           const protocol::RunId& run,
                                                           sandbox::Page page) override;
    Async<model::CommandRecord> command(Principal, protocol::RunId run,
                                        protocol::CommandId id) override;
    Async<model::CommandRecord> wait_command(Principal, protocol::RunId run, protocol::CommandId id,
                                             std::chrono::milliseconds limit) override;
    Async<model::CommandRecord> kill_command(Principal, protocol::RunId run, protocol::CommandId id,
                                             int signal) override;
    Async<void> resize_command(Principal, protocol::RunId run, protocol::CommandId id,
                               protocol::TerminalSize size) override;
    Async<std::shared_ptr<sandbox::Follower>> follow(Principal, protocol::RunId run,
                                                     protocol::CommandId id,
                                                     std::uint64_t output_from,
                                                     std::uint64_t error_from,
                                                     bool lossless) override;
    Async<std::shared_ptr<sandbox::InputSink>> input(Principal, protocol::RunId run,
                                                     protocol::CommandId id,
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
    Result<void> allowed() const;
    model::RunRecord* find_run(const protocol::RunId& id);
    model::CommandRecord* find_command(const protocol::CommandId& id);
    boost::asio::awaitable<void> wait_until(std::chrono::milliseconds limit,
                                            std::function<bool()> holds);

    boost::asio::any_io_executor loop_;
};

}  // namespace host::api::testing
