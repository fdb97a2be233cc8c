// Namespaces, VFS, secrets, capsules and keys: what is on the disk when the call returns.

#include "host/journal/codec.hpp"
#include "host/journal/database.hpp"
#include "host/journal/rows.hpp"
#include "host/journal/sqlite.hpp"

namespace host::journal {

namespace {

protocol::Failure already_exists(const std::string& what) {
    return protocol::Failure::with_code(protocol::Kind::conflict, "already-exists",
                                        what + " already exists");
}

Result<model::NamespaceRecord> read_namespace(Statement& row) {
    model::NamespaceRecord record;
    record.name = row.text();
    record.image = row.text();
    record.created_at = row.integer();
    return record;
}

model::QualifiedName read_name(Statement& row) {
    model::QualifiedName name;
    name.space = row.text();
    name.name = row.text();
    return name;
}

Result<model::VfsRecord> read_vfs(Statement& row) {
    model::VfsRecord record;
    record.name = read_name(row);
    record.folder = row.text();
    record.created_at = row.integer();
    return record;
}

Result<model::SecretRecord> read_secret(Statement& row) {
    model::SecretRecord record;
    record.name = read_name(row);
    record.sealed = row.text();
    record.created_at = row.integer();
    record.updated_at = row.integer();
    return record;
}

Result<model::CapsuleRecord> read_capsule(Statement& row) {
    model::CapsuleRecord record;
    record.name = read_name(row);
    TRY(record.definition, from_text<model::Definition>(row.text(), "definition"));
    record.source = row.text();
    record.created_at = row.integer();
    record.updated_at = row.integer();
    return record;
}

Result<model::ApiKeyRecord> read_key(Statement& row) {
    model::ApiKeyRecord record;
    record.id = row.text();
    record.hash = row.text();
    TRY(record.namespaces, from_text<std::vector<std::string>>(row.text(), "list of namespaces"));
    record.label = row.text();
    record.created_at = row.integer();
    return record;
}

}  // namespace

// ---- namespaces --------------------------------------------------------------------------------

Result<std::vector<model::NamespaceRecord>> Database::namespaces() {
    TRY(Statement query,
        sqlite_->prepare("SELECT name, image, created_at FROM namespaces ORDER BY name"));
    return all_rows<model::NamespaceRecord>(query, read_namespace);
}

Result<std::optional<model::NamespaceRecord>> Database::find_namespace(const std::string& name) {
    TRY(Statement query,
        sqlite_->prepare("SELECT name, image, created_at FROM namespaces WHERE name = ?1"));
    query.bind(name);
    return one_row<model::NamespaceRecord>(query, read_namespace);
}

Result<void> Database::insert_namespace(const model::NamespaceRecord& record) {
    TRY(Statement insert,
        sqlite_->prepare(
            "INSERT OR IGNORE INTO namespaces (name, image, created_at) VALUES (?1, ?2, ?3)"));
    insert.bind(record.name).bind(record.image).bind(record.created_at);
    TRY_VOID(write_to_disk(insert));
    if (sqlite_->changes() == 0) {
        return protocol::fail(already_exists("namespace \"" + record.name + "\""));
    }
    return {};
}

Result<void> Database::set_namespace_image(const std::string& name, const std::string& image) {
    TRY(Statement update, sqlite_->prepare("UPDATE namespaces SET image = ?2 WHERE name = ?1"));
    update.bind(name).bind(image);
    return write_to_disk(update);
}

Result<void> Database::delete_namespace(const std::string& name) {
    constexpr const char* statements[] = {
        "DELETE FROM commands WHERE run IN (SELECT id FROM runs WHERE space = ?1)",
        "DELETE FROM idempotency WHERE run IN (SELECT id FROM runs WHERE space = ?1)",
        "DELETE FROM runs WHERE space = ?1",
        "DELETE FROM namespaces WHERE name = ?1",
    };
    TRY(Transaction transaction, begin(Durability::disk));
    for (const char* sql : statements) {
        TRY(Statement statement, sqlite_->prepare(sql));
        statement.bind(name);
        TRY_VOID(statement.run());
    }
    return transaction.commit();
}

Result<bool> Database::is_namespace_empty(const std::string& name) {
    TRY(Statement query, sqlite_->prepare("SELECT EXISTS (SELECT 1 FROM vfs WHERE space = ?1)"
                                          " + EXISTS (SELECT 1 FROM secrets WHERE space = ?1)"
                                          " + EXISTS (SELECT 1 FROM capsules WHERE space = ?1)"));
    query.bind(name);
    TRY(const bool row, query.step());
    return row && query.integer() == 0;
}

// ---- VFS ---------------------------------------------------------------------------------------

Result<std::vector<model::VfsRecord>> Database::vfs_list(const std::string& space) {
    TRY(Statement query, sqlite_->prepare("SELECT space, name, folder, created_at FROM vfs"
                                          " WHERE space = ?1 ORDER BY name"));
    query.bind(space);
    return all_rows<model::VfsRecord>(query, read_vfs);
}

Result<std::optional<model::VfsRecord>> Database::find_vfs(const model::QualifiedName& name) {
    TRY(Statement query, sqlite_->prepare("SELECT space, name, folder, created_at FROM vfs"
                                          " WHERE space = ?1 AND name = ?2"));
    query.bind(name.space).bind(name.name);
    return one_row<model::VfsRecord>(query, read_vfs);
}

Result<void> Database::insert_vfs(const model::VfsRecord& record) {
    TRY(Statement insert,
        sqlite_->prepare("INSERT OR IGNORE INTO vfs (space, name, folder, created_at)"
                         " VALUES (?1, ?2, ?3, ?4)"));
    insert.bind(record.name.space)
        .bind(record.name.name)
        .bind(record.folder)
        .bind(record.created_at);
    TRY_VOID(write_to_disk(insert));
    if (sqlite_->changes() == 0) {
        return protocol::fail(already_exists("VFS \"" + record.name.name + "\""));
    }
    return {};
}

Result<bool> Database::delete_named(const char* sql, const model::QualifiedName& name) {
    TRY(Statement statement, sqlite_->prepare(sql));
    statement.bind(name.space).bind(name.name);
    TRY_VOID(write_to_disk(statement));
    return sqlite_->changes() > 0;
}

Result<bool> Database::delete_vfs(const model::QualifiedName& name) {
    return delete_named("DELETE FROM vfs WHERE space = ?1 AND name = ?2", name);
}

Result<void> Database::add_loose_folder(const std::string& folder) {
    TRY(Statement insert,
        sqlite_->prepare("INSERT OR IGNORE INTO loose_folders (folder) VALUES (?1)"));
    insert.bind(folder);
    return write_to_disk(insert);
}

Result<void> Database::remove_loose_folder(const std::string& folder) {
    TRY(Statement remove, sqlite_->prepare("DELETE FROM loose_folders WHERE folder = ?1"));
    remove.bind(folder);
    return write_to_disk(remove);
}

Result<std::vector<std::string>> Database::loose_folders() {
    TRY(Statement query, sqlite_->prepare("SELECT folder FROM loose_folders"));
    return all_rows<std::string>(query,
                                 [](Statement& row) -> Result<std::string> { return row.text(); });
}

// ---- secrets -----------------------------------------------------------------------------------

Result<std::vector<model::SecretRecord>> Database::secrets(const std::string& space) {
    TRY(Statement query,
        sqlite_->prepare("SELECT space, name, '', created_at, updated_at FROM secrets"
                         " WHERE space = ?1 ORDER BY name"));
    query.bind(space);
    return all_rows<model::SecretRecord>(query, read_secret);
}

Result<std::optional<model::SecretRecord>> Database::find_secret(const model::QualifiedName& name) {
    TRY(Statement query,
        sqlite_->prepare("SELECT space, name, sealed, created_at, updated_at FROM secrets"
                         " WHERE space = ?1 AND name = ?2"));
    query.bind(name.space).bind(name.name);
    return one_row<model::SecretRecord>(query, read_secret);
}

Result<void> Database::put_secret(const model::SecretRecord& record) {
    TRY(Statement insert,
        sqlite_->prepare(
            "INSERT INTO secrets (space, name, sealed, created_at, updated_at)"
            " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (space, name)"
            " DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at"));
    insert.bind(record.name.space)
        .bind(record.name.name)
        .bind_blob(record.sealed)
        .bind(record.created_at)
        .bind(record.updated_at);
    return write_to_disk(insert);
}

Result<bool> Database::delete_secret(const model::QualifiedName& name) {
    return delete_named("DELETE FROM secrets WHERE space = ?1 AND name = ?2", name);
}

// ---- capsules ----------------------------------------------------------------------------------

Result<std::vector<model::CapsuleRecord>> Database::capsules(const std::string& space) {
    TRY(Statement query,
        sqlite_->prepare("SELECT space, name, definition, source, created_at, updated_at"
                         " FROM capsules WHERE space = ?1 ORDER BY name"));
    query.bind(space);
    return all_rows<model::CapsuleRecord>(query, read_capsule);
}

Result<std::optional<model::CapsuleRecord>> Database::find_capsule(
    const model::QualifiedName& name) {
    TRY(Statement query,
        sqlite_->prepare("SELECT space, name, definition, source, created_at, updated_at"
                         " FROM capsules WHERE space = ?1 AND name = ?2"));
    query.bind(name.space).bind(name.name);
    return one_row<model::CapsuleRecord>(query, read_capsule);
}

Result<void> Database::put_capsule(const model::CapsuleRecord& record) {
    TRY(Statement insert,
        sqlite_->prepare(
            "INSERT INTO capsules (space, name, definition, source, created_at, updated_at)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (space, name)"
            " DO UPDATE SET definition = excluded.definition, source = excluded.source,"
            " updated_at = excluded.updated_at"));
    insert.bind(record.name.space)
        .bind(record.name.name)
        .bind(to_text(record.definition))
        .bind(record.source)
        .bind(record.created_at)
        .bind(record.updated_at);
    return write_to_disk(insert);
}

Result<bool> Database::delete_capsule(const model::QualifiedName& name) {
    return delete_named("DELETE FROM capsules WHERE space = ?1 AND name = ?2", name);
}

// ---- API keys ----------------------------------------------------------------------------------

Result<void> Database::insert_key(const model::ApiKeyRecord& record) {
    TRY(Statement insert,
        sqlite_->prepare("INSERT INTO api_keys (id, hash, namespaces, label, created_at)"
                         " VALUES (?1, ?2, ?3, ?4, ?5)"));
    insert.bind(record.id)
        .bind(record.hash)
        .bind(to_text(record.namespaces))
        .bind(record.label)
        .bind(record.created_at);
    return write_to_disk(insert);
}

Result<std::vector<model::ApiKeyRecord>> Database::keys() {
    TRY(Statement query,
        sqlite_->prepare("SELECT id, hash, namespaces, label, created_at FROM api_keys"
                         " ORDER BY created_at, id"));
    return all_rows<model::ApiKeyRecord>(query, read_key);
}

Result<std::optional<model::ApiKeyRecord>> Database::find_key(const std::string& id) {
    TRY(Statement query,
        sqlite_->prepare("SELECT id, hash, namespaces, label, created_at FROM api_keys"
                         " WHERE id = ?1"));
    query.bind(id);
    return one_row<model::ApiKeyRecord>(query, read_key);
}

Result<std::optional<model::ApiKeyRecord>> Database::find_key_by_hash(const std::string& hash) {
    TRY(Statement query,
        sqlite_->prepare("SELECT id, hash, namespaces, label, created_at FROM api_keys"
                         " WHERE hash = ?1"));
    query.bind(hash);
    return one_row<model::ApiKeyRecord>(query, read_key);
}

Result<bool> Database::delete_key(const std::string& id) {
    TRY(Statement statement, sqlite_->prepare("DELETE FROM api_keys WHERE id = ?1"));
    statement.bind(id);
    TRY_VOID(write_to_disk(statement));
    return sqlite_->changes() > 0;
}

}  // namespace host::journal
