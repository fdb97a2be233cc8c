// Runs: start, look, wait, stop.

#include "host/sandbox/paging.hpp"
#include "host/sandbox/refusals.hpp"
#include "host/sandbox/service_impl.hpp"
#include "protocol/base/name.hpp"

#include <algorithm>
#include <fstream>
#include <random>

namespace host::sandbox {

namespace {

constexpr std::streamoff console_bytes = 256 << 10;

std::string mebibytes(std::uint64_t bytes) {
    return std::to_string(bytes >> 20) + " MiB";
}

// Until the accelerator is known, the one that takes more.
std::uint64_t memory_of(const model::Definition& definition, const Core& core) {
    const bool known = core.platform && *core.platform;
    return definition.resources.memory_bytes.value_or(core.parts.settings.memory_bytes) +
           run_memory_overhead(known ? (*core.platform)->accelerator : Accelerator::tcg);
}

Result<std::string> read_tail(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) return std::string();  // the machine has written nothing yet
    const std::streamoff size = file.tellg();
    file.seekg(std::max<std::streamoff>(size - console_bytes, 0));
    std::string text(static_cast<std::size_t>(std::min(size, console_bytes)), '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    return text;
}

}  // namespace

// ---- starting ----------------------------------------------------------------------------------

Result<void> ServiceImpl::check_room(const Principal& principal,
                                     const model::Definition& definition) {
    const Settings& settings = core_->parts.settings;
    if (settings.live_runs != 0 && core_->live.size() >= settings.live_runs) {
        return protocol::fail(no_room("at most " + std::to_string(settings.live_runs) +
                                      " runs may be live on this host"));
    }
    if (principal.inside) {
        const auto children = std::ranges::count_if(core_->live, [&](const auto& entry) {
            return entry.second->record().started_by == principal.name;
        });
        if (static_cast<std::uint64_t>(children) >= settings.child_runs) {
            return protocol::fail(no_room("a capsule may have at most " +
                                          std::to_string(settings.child_runs) +
                                          " live runs that were started from inside it"));
        }
    }
    // A machine touches its memory little by little: what was promised counts, not what is used.
    std::uint64_t promised = memory_of(definition, *core_);
    const std::uint64_t needed = promised;
    for (const auto& [id, run] : core_->live) {
        promised += memory_of(run->record().definition, *core_);
    }
    const HostMemory memory = core_->parts.memory();
    if (promised + settings.host_memory_reserve_bytes > memory.total_bytes ||
        needed > memory.available_bytes) {
        return protocol::fail(no_room(
            "not enough memory: the run needs " + mebibytes(needed) + ", all live runs together " +
            mebibytes(promised) + " of " + mebibytes(memory.total_bytes) + " (" +
            mebibytes(settings.host_memory_reserve_bytes) + " stay with the host, " +
            mebibytes(memory.available_bytes) + " are free)"));
    }
    TRY(const std::uint64_t free_disk, core_->parts.disks->free_bytes());
    if (free_disk < settings.host_disk_reserve_bytes) {
        return protocol::fail(no_room("not enough disk space: " + mebibytes(free_disk) +
                                      " are free, " + mebibytes(settings.host_disk_reserve_bytes) +
                                      " stay with the host"));
    }
    return {};
}

Result<void> ServiceImpl::check_references(const Rights& rights,
                                           const model::Definition& definition) {
    for (const model::VfsMount& mount : definition.vfs) {
        TRY(const auto found, database_.find_vfs(mount.vfs));
        if (!found || !rights.may_see(mount.vfs.space)) {
            return protocol::fail(not_found("VFS \"" + mount.vfs.name + "\" in namespace \"" +
                                            mount.vfs.space + "\", which the capsule mounts,"));
        }
    }
    for (const model::SecretMount& mount : definition.secrets) {
        TRY(const auto found, database_.find_secret(mount.secret));
        if (!found || !rights.may_see(mount.secret.space)) {
            return protocol::fail(not_found("secret \"" + mount.secret.name + "\" in namespace \"" +
                                            mount.secret.space + "\", which the capsule mounts,"));
        }
    }
    return {};
}

// Begins at a random place, so that two daemons on one host hardly ever share a uid.
Result<std::uint32_t> ServiceImpl::free_uid() {
    const Settings& settings = core_->parts.settings;
    std::random_device random;
    std::uniform_int_distribution<std::uint32_t> anywhere(0, settings.uid_count - 1);
    std::uint32_t offset = anywhere(random);
    for (std::uint32_t tried = 0; tried < settings.uid_count; ++tried) {
        const std::uint32_t uid = settings.uid_first + offset;
        const bool taken = std::ranges::any_of(
            core_->live, [uid](const auto& entry) { return entry.second->record().uid == uid; });
        if (!taken) return uid;
        offset = (offset + 1) % settings.uid_count;
    }
    return protocol::fail(no_room("every user id of the configured range is in use"));
}

Result<model::RunRecord> ServiceImpl::create_run(
    const Principal& principal, const model::CapsuleRecord& capsule,
    const std::string& image_version, const std::optional<journal::IdempotencyRecord>& key) {
    const auto now = core_->clock.unix_ms();
    model::RunRecord record(key ? *RunId::parse(key->target) : RunId::random());
    record.capsule = capsule.name;
    record.definition = capsule.definition;
    // The very version, for all that looks at the run later: a restarted daemon, the proxy that
    // asks for the image's package sources, whoever wants to delete the image.
    record.definition.image = image_version;
    record.phase = model::RunPhase::booting;
    record.started_by = principal.name;
    record.created_at = now;
    record.host_boot_id = core_->clock.host_boot_id();
    record.deadline_boottime_ms =
        core_->clock.boottime_ms() + static_cast<std::int64_t>(record.definition.max_duration_ms);
    TRY(record.uid, free_uid());

    TRY(auto transaction, database_.begin(journal::Durability::process));
    TRY_VOID(database_.insert_run(record));
    std::uint64_t sequence = 0;
    for (const model::StartupCommand& startup : record.definition.startup) {
        model::CommandRecord command(protocol::CommandId::random(), record.id);
        command.startup = true;
        command.sequence = ++sequence;
        command.command = startup.command;
        command.arguments = startup.arguments;
        command.run_as_user = startup.run_as_user;
        command.max_duration_ms = startup.max_duration_ms;
        command.async = !startup.wait;
        command.created_at = now;
        TRY_VOID(database_.insert_command(command));
    }
    if (key) TRY_VOID(database_.insert_idempotent(*key));
    TRY_VOID(core_->events.append(record.capsule.space, "run.started", describe(record)));
    TRY_VOID(transaction.commit());
    return record;
}

Result<model::RunRecord> ServiceImpl::start(const Principal& principal, model::QualifiedName name,
                                            std::string idempotency_key) {
    TRY_VOID(check_name(principal, name));
    std::optional<journal::IdempotencyRecord> key;
    if (!idempotency_key.empty()) {
        key.emplace();
        key->scope = principal.name + " start " + name.space;
        key->key = std::move(idempotency_key);
        key->fingerprint = name.name;
        TRY(const auto earlier, database_.find_idempotent(key->scope, key->key));
        if (earlier) {
            if (earlier->fingerprint != key->fingerprint) {
                return protocol::fail(idempotency_mismatch());
            }
            TRY(const RunId id, RunId::parse(earlier->target));
            return find_run(principal, id);
        }
        key->target = RunId::random().str();
        key->run = key->target;
    }
    TRY(const auto capsule, this->capsule(principal, name));
    TRY(const Rights rights, rights_of(principal));
    TRY_VOID(check_references(rights, capsule.definition));
    TRY_VOID(check_room(principal, capsule.definition));
    // Resolved now: a missing image is the caller's to hear, and a new one does not change this
    // run.
    TRY(auto image, image_of(capsule));
    TRY(const model::RunRecord record, create_run(principal, capsule, image.version, key));

    const auto supervisor = std::make_shared<RunSupervisor>(core_, record);
    core_->live.emplace(record.id, supervisor);
    supervisor->begin(std::move(image));
    return supervisor->record();
}

// ---- looking and waiting -----------------------------------------------------------------------

Result<PageOf<model::RunRecord>> ServiceImpl::runs(const Principal& principal, RunFilter filter,
                                                   Page page) {
    TRY(const Rights rights, rights_of(principal));
    journal::RunQuery query;
    query.spaces = rights.namespaces;
    if (!filter.space.empty()) {
        TRY_VOID(check_space(principal, filter.space));
        query.spaces.clear();
        query.spaces.push_back(filter.space);
    }
    query.status = filter.status;
    query.live_only = filter.live_only;
    TRY(query.below, parse_cursor(page.after));
    query.limit = page_limit(page);
    TRY(auto rows, database_.runs(query));
    PageOf<model::RunRecord> answer;
    if (rows.size() == query.limit) answer.next = std::to_string(rows.back().number);
    for (auto& row : rows) answer.items.push_back(std::move(row.record));
    return answer;
}

Result<model::RunRecord> ServiceImpl::run(const Principal& principal, const RunId& id) {
    return find_run(principal, id);
}

Async<model::RunRecord> ServiceImpl::wait_run(Principal principal, RunId id, Until until,
                                              std::chrono::milliseconds limit) {
    const auto self = shared_from_this();
    CO_TRY(auto record, find_run(principal, id));
    const auto run = core_->find(id);
    if (!run) co_return record;
    const std::int64_t latest = core_->clock.boottime_ms() +
                                std::min<std::chrono::milliseconds>(limit, longest_wait).count();
    const auto holds = [&run, until] {
        const auto status = run->record().status;
        return is_terminal(status) ||
               (until == Until::started && status != model::RunStatus::starting);
    };
    while (!holds() && core_->clock.boottime_ms() < latest && !core_->closing) {
        co_await run->changed().wait_until(core_->clock, latest);
    }
    co_return run->record();
}

Async<model::RunRecord> ServiceImpl::terminate(Principal principal, RunId id) {
    const auto self = shared_from_this();
    CO_TRY(auto record, find_run(principal, id));
    const auto run = core_->find(id);
    if (!run) co_return record;
    run->stop(principal.name == "local" ? "the user" : principal.name);
    const std::int64_t latest =
        core_->clock.boottime_ms() + std::chrono::milliseconds(longest_wait).count();
    while (!is_terminal(run->record().status) && core_->clock.boottime_ms() < latest &&
           !core_->closing) {
        co_await run->changed().wait_until(core_->clock, latest);
    }
    if (is_terminal(run->record().status)) co_return run->record();
    co_return protocol::fail(
        protocol::Failure::with_code(protocol::Kind::unavailable, "hypervisor-unavailable",
                                     "the run is ending, but its machine could not be ended yet"));
}

Async<std::string> ServiceImpl::console_log(Principal principal, RunId id) {
    const auto self = shared_from_this();
    CO_TRY(const auto record, find_run(principal, id));
    if (is_terminal(record.status)) {
        co_return protocol::fail(run_ended("the console is kept until the end of the run"));
    }
    auto read = [path = core_->parts.disks->layout(id).console_log.value] {
        return read_tail(path);
    };
    co_return co_await on_workers(*core_->parts.workers, std::move(read));
}

Async<std::chrono::nanoseconds> ServiceImpl::ping(Principal principal, RunId id) {
    const auto self = shared_from_this();
    CO_TRY(const auto run, live_run(principal, id));
    const auto guest = run->guest();
    if (!guest) co_return protocol::fail(guest_unavailable("the agent is not connected yet"));
    auto took = co_await guest->ping();
    // Nobody was there to answer any more.
    if (!took && run->ending()) co_return protocol::fail(run_ended("the capsule has ended"));
    co_return took;
}

}  // namespace host::sandbox
