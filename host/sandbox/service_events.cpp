// Events, keys, and what this host runs on.

#include "host/sandbox/paging.hpp"
#include "host/sandbox/refusals.hpp"
#include "host/sandbox/service_impl.hpp"
#include "protocol/base/duration.hpp"
#include "protocol/base/name.hpp"

#include <algorithm>

namespace host::sandbox {

namespace {

constexpr std::size_t events_page = 500;
constexpr std::size_t label_bytes = 200;

std::string duration_text(std::chrono::milliseconds duration) {
    return protocol::format_duration(duration);
}

}  // namespace

Async<std::vector<model::EventRecord>> ServiceImpl::events(Principal principal, std::uint64_t after,
                                                           std::chrono::milliseconds limit) {
    const auto self = shared_from_this();
    const std::int64_t latest = core_->clock.boottime_ms() +
                                std::min<std::chrono::milliseconds>(limit, longest_wait).count();
    for (;;) {
        // Asked anew each time: whoever waits may have lost the right meanwhile.
        CO_TRY(const auto rights, rights_of(principal));
        CO_TRY(auto found, database_.events_after(after, rights.namespaces, events_page));
        if (!found.empty() || core_->clock.boottime_ms() >= latest || core_->closing) {
            co_return found;
        }
        co_await core_->events.appended().wait_until(core_->clock, latest);
    }
}

std::uint64_t ServiceImpl::last_event_id() {
    return database_.last_event_id().value_or(0);
}

// ---- keys --------------------------------------------------------------------------------------

Result<std::pair<model::ApiKeyRecord, std::string>> ServiceImpl::create_key(
    const Principal& principal, std::string label, std::vector<std::string> namespaces) {
    TRY(const Rights rights, rights_of(principal));
    if (!rights.may_administer) return protocol::fail(forbidden("keys are the administrator's"));
    if (label.size() > label_bytes || label.find('\0') != std::string::npos) {
        return protocol::fail(invalid("label has at most 200 bytes"));
    }
    for (const std::string& space : namespaces) {
        if (!protocol::is_valid_name(space)) {
            return protocol::fail(protocol::Failure::with_code(
                protocol::Kind::invalid_argument, "invalid-name",
                "\"" + protocol::escape_foreign(space, 80) + "\" is not a valid namespace name"));
        }
        TRY(const auto found, database_.find_namespace(space));
        if (!found) return protocol::fail(not_found("namespace \"" + space + "\""));
    }
    std::string key = core_->parts.vault.random_key();
    model::ApiKeyRecord record;
    record.id = RunId::random().str();
    record.hash = core_->parts.vault.hash(key);
    record.label = std::move(label);
    record.namespaces = std::move(namespaces);
    record.created_at = core_->clock.unix_ms();
    TRY_VOID(database_.insert_key(record));
    return std::pair(std::move(record), std::move(key));
}

Result<std::vector<model::ApiKeyRecord>> ServiceImpl::keys(const Principal& principal) {
    TRY(const Rights rights, rights_of(principal));
    if (!rights.may_administer) return protocol::fail(forbidden("keys are the administrator's"));
    return database_.keys();
}

Result<void> ServiceImpl::delete_key(const Principal& principal, std::string id) {
    TRY(const Rights rights, rights_of(principal));
    if (!rights.may_administer) return protocol::fail(forbidden("keys are the administrator's"));
    TRY(const bool deleted, database_.delete_key(id));
    if (!deleted) return protocol::fail(not_found("key " + protocol::escape_foreign(id, 80)));
    return {};
}

Result<Principal> ServiceImpl::authenticate(std::string key) {
    TRY(const auto record, database_.find_key_by_hash(core_->parts.vault.hash(key)));
    if (!record) {
        return protocol::fail(protocol::Failure::with_code(
            protocol::Kind::unauthenticated, "unauthenticated", "the key is not known"));
    }
    Principal principal;
    principal.name = "key:" + record->id;
    principal.namespaces = record->namespaces;
    principal.may_administer = record->namespaces.empty();
    if (!record->namespaces.empty() && !std::ranges::count(record->namespaces, "default")) {
        principal.default_namespace = record->namespaces.front();
    }
    return principal;
}

// ---- the host ----------------------------------------------------------------------------------

Async<boost::json::object> ServiceImpl::host_report() {
    const auto self = shared_from_this();
    boost::json::object report;
    if (core_->parts.describe_host) {
        auto describe = core_->parts.describe_host;
        report = co_await on_workers(*core_->parts.workers, std::move(describe));
    }
    if (!core_->platform) {
        report["accelerator"] = nullptr;
        report["acceleratorReason"] = "still being found out";
    } else if (!*core_->platform) {
        report["accelerator"] = nullptr;
        report["acceleratorReason"] = core_->platform->error().message();
    } else {
        const Platform& platform = **core_->platform;
        report["accelerator"] = to_string(platform.accelerator);
        report["acceleratorReason"] = platform.accelerator_reason;
        report["transport"] = to_string(platform.transport);
        report["transportReason"] = platform.transport_reason;
    }
    const Settings& settings = core_->parts.settings;
    boost::json::object limits;
    limits["liveRuns"] = settings.live_runs;
    limits["memoryBytes"] = settings.memory_bytes;
    limits["cpus"] = settings.cpus;
    limits["hostMemoryReserveBytes"] = settings.host_memory_reserve_bytes;
    limits["hostDiskReserveBytes"] = settings.host_disk_reserve_bytes;
    limits["maxDuration"] = duration_text(model::defaults::max_duration);
    limits["maxDurationLimit"] = duration_text(model::defaults::max_duration_limit);
    limits["commandsPerRun"] = model::defaults::commands_per_run;
    limits["queuedPerRun"] = model::defaults::queued_per_run;
    report["limits"] = std::move(limits);
    report["liveRuns"] = core_->live.size();
    report["installation"] = database_.installation().str();
    co_return report;
}

}  // namespace host::sandbox
