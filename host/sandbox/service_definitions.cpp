// Namespaces, VFS, secrets and capsules.

#include "host/sandbox/refusals.hpp"
#include "host/sandbox/service_impl.hpp"
#include "protocol/base/name.hpp"
#include "protocol/wire/limits.hpp"

#include <algorithm>

namespace host::sandbox {

namespace {

std::string quoted(const char* kind, const model::QualifiedName& name) {
    return std::string(kind) + " \"" + name.name + "\" in namespace \"" + name.space + "\"";
}

}  // namespace

// ---- namespaces --------------------------------------------------------------------------------

Result<std::vector<model::NamespaceRecord>> ServiceImpl::namespaces(const Principal& principal) {
    TRY(const Rights rights, rights_of(principal));
    TRY(auto records, database_.namespaces());
    std::erase_if(records, [&](const auto& record) { return !rights.may_see(record.name); });
    return records;
}

Result<model::NamespaceRecord> ServiceImpl::create_namespace(const Principal& principal,
                                                             std::string name) {
    TRY(const Rights rights, rights_of(principal));
    if (!protocol::is_valid_name(name)) {
        return protocol::fail(protocol::Failure::with_code(
            protocol::Kind::invalid_argument, "invalid-name",
            "\"" + protocol::escape_foreign(name, 80) + "\" is not a valid namespace name"));
    }
    if (!rights.may_see(name)) {
        return protocol::fail(forbidden("no access to namespace \"" + name + "\""));
    }
    model::NamespaceRecord record;
    record.name = std::move(name);
    record.created_at = core_->clock.unix_ms();
    TRY_VOID(database_.insert_namespace(record));
    return record;
}

Async<void> ServiceImpl::delete_namespace(Principal principal, std::string name) {
    CO_TRY_VOID(check_space(principal, name));
    if (name == "default") {
        co_return protocol::fail(protocol::Failure::with_code(
            protocol::Kind::conflict, "in-use", "the namespace \"default\" is always there"));
    }
    const auto in_it = [&name](const auto& entry) {
        return entry.second->record().capsule.space == name;
    };
    const auto made_in_it = [&name](const auto& vfs) { return vfs.space == name; };
    if (std::ranges::any_of(core_->live, in_it) || std::ranges::any_of(busy_vfs_, made_in_it)) {
        co_return protocol::fail(protocol::Failure::with_code(protocol::Kind::conflict, "in-use",
                                                              "runs of this namespace are live"));
    }
    CO_TRY(const bool empty, database_.is_namespace_empty(name));
    if (!empty) {
        co_return protocol::fail(protocol::Failure::with_code(
            protocol::Kind::conflict, "not-empty",
            "the namespace still has file systems, secrets or capsules"));
    }
    co_return database_.delete_namespace(name);
}

// ---- VFS ---------------------------------------------------------------------------------------

bool ServiceImpl::is_mounted(const model::QualifiedName& vfs) const {
    const auto mounts_it = [&vfs](const auto& entry) {
        return std::ranges::any_of(entry.second->record().definition.vfs,
                                   [&vfs](const auto& mount) { return mount.vfs == vfs; });
    };
    return std::ranges::any_of(core_->live, mounts_it);
}

Result<std::vector<model::VfsRecord>> ServiceImpl::vfs_list(const Principal& principal,
                                                            std::string space) {
    TRY_VOID(check_space(principal, space));
    return database_.vfs_list(space);
}

Result<model::VfsRecord> ServiceImpl::vfs(const Principal& principal, model::QualifiedName name) {
    TRY_VOID(check_name(principal, name));
    TRY(auto found, database_.find_vfs(name));
    if (!found) return protocol::fail(not_found(quoted("VFS", name)));
    return std::move(*found);
}

Async<model::VfsRecord> ServiceImpl::create_vfs(Principal principal, model::QualifiedName name) {
    const auto self = shared_from_this();
    CO_TRY_VOID(check_name(principal, name));
    CO_TRY(const auto present, database_.find_vfs(name));
    if (present || busy_vfs_.contains(name)) {
        co_return protocol::fail(protocol::Failure::with_code(
            protocol::Kind::conflict, "already-exists", quoted("VFS", name) + " already exists"));
    }
    model::VfsRecord record;
    record.name = name;
    record.folder = RunId::random().str();  // any UUID: users' names never become host paths
    record.created_at = core_->clock.unix_ms();
    // Known before it exists, so that a crash leaves no folder behind for good.
    CO_TRY_VOID(database_.add_loose_folder(record.folder));
    busy_vfs_.insert(name);
    auto create = [create = core_->parts.vfs.create, folder = record.folder] {
        return create(folder);
    };
    auto created = co_await on_workers(*core_->parts.workers, std::move(create));
    busy_vfs_.erase(name);
    if (!created) co_return protocol::fail(std::move(created).error());
    CO_TRY(auto transaction, database_.begin(journal::Durability::disk));
    CO_TRY_VOID(database_.insert_vfs(record));
    CO_TRY_VOID(database_.remove_loose_folder(record.folder));
    CO_TRY_VOID(transaction.commit());
    co_return record;
}

Async<void> ServiceImpl::delete_vfs(Principal principal, model::QualifiedName name) {
    const auto self = shared_from_this();
    CO_TRY(const auto record, vfs(principal, name));
    if (is_mounted(name)) {
        co_return protocol::fail(protocol::Failure::with_code(
            protocol::Kind::conflict, "in-use", quoted("VFS", name) + " is mounted in a live run"));
    }
    {
        CO_TRY(auto transaction, database_.begin(journal::Durability::disk));
        CO_TRY_VOID(database_.add_loose_folder(record.folder));
        CO_TRY(const bool deleted, database_.delete_vfs(name));
        static_cast<void>(deleted);
        CO_TRY_VOID(transaction.commit());
    }
    auto remove = [remove = core_->parts.vfs.remove, folder = record.folder] {
        return remove(folder);
    };
    auto removed = co_await on_workers(*core_->parts.workers, std::move(remove));
    // The name is free already; a folder that resists is tried again at the next start.
    if (!removed) co_return protocol::fail(std::move(removed).error());
    co_return database_.remove_loose_folder(record.folder);
}

// ---- secrets -----------------------------------------------------------------------------------

Result<std::vector<model::SecretRecord>> ServiceImpl::secrets(const Principal& principal,
                                                              std::string space) {
    TRY_VOID(check_space(principal, space));
    return database_.secrets(space);
}

Result<model::SecretRecord> ServiceImpl::set_secret(const Principal& principal,
                                                    model::QualifiedName name, std::string value) {
    TRY_VOID(check_name(principal, name));
    if (value.size() > protocol::limits::secret_bytes) {
        return protocol::fail(protocol::Failure::with_code(
            protocol::Kind::too_large, "too-large",
            "a secret has at most " + std::to_string(protocol::limits::secret_bytes) + " bytes"));
    }
    model::SecretRecord record;
    record.name = name;
    record.sealed = core_->parts.vault.seal(secret_label(name), value);
    record.created_at = core_->clock.unix_ms();
    record.updated_at = record.created_at;
    TRY_VOID(database_.put_secret(record));
    record.sealed.clear();
    return record;
}

Result<void> ServiceImpl::delete_secret(const Principal& principal, model::QualifiedName name) {
    TRY_VOID(check_name(principal, name));
    TRY(const bool deleted, database_.delete_secret(name));
    if (!deleted) return protocol::fail(not_found(quoted("secret", name)));
    return {};
}

// ---- capsules ----------------------------------------------------------------------------------

Result<std::vector<model::CapsuleRecord>> ServiceImpl::capsules(const Principal& principal,
                                                                std::string space) {
    TRY_VOID(check_space(principal, space));
    return database_.capsules(space);
}

Result<model::CapsuleRecord> ServiceImpl::capsule(const Principal& principal,
                                                  model::QualifiedName name) {
    TRY_VOID(check_name(principal, name));
    TRY(auto found, database_.find_capsule(name));
    if (!found) return protocol::fail(not_found(quoted("capsule", name)));
    return std::move(*found);
}

Result<void> ServiceImpl::delete_capsule(const Principal& principal, model::QualifiedName name) {
    TRY_VOID(check_name(principal, name));
    TRY(const bool deleted, database_.delete_capsule(name));
    if (!deleted) return protocol::fail(not_found(quoted("capsule", name)));
    return {};
}

}  // namespace host::sandbox
