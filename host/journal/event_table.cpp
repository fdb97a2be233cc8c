// Events and idempotency keys.

#include "host/journal/codec.hpp"
#include "host/journal/database.hpp"
#include "host/journal/rows.hpp"
#include "host/journal/sqlite.hpp"

namespace host::journal {

namespace {

Result<model::EventRecord> read_event(Statement& row) {
    model::EventRecord record;
    record.id = static_cast<std::uint64_t>(row.integer());
    record.space = row.text();
    record.type = row.text();
    record.data = row.text();
    record.at = row.integer();
    return record;
}

Result<IdempotencyRecord> read_idempotent(Statement& row) {
    IdempotencyRecord record;
    record.scope = row.text();
    record.key = row.text();
    record.fingerprint = row.text();
    record.target = row.text();
    record.run = row.text();
    return record;
}

}  // namespace

Result<std::optional<IdempotencyRecord>> Database::find_idempotent(const std::string& scope,
                                                                   const std::string& key) {
    TRY(Statement query, sqlite_->prepare("SELECT scope, key, fingerprint, target, run"
                                          " FROM idempotency WHERE scope = ?1 AND key = ?2"));
    query.bind(scope).bind(key);
    return one_row<IdempotencyRecord>(query, read_idempotent);
}

Result<void> Database::insert_idempotent(const IdempotencyRecord& record) {
    TRY(Statement insert,
        sqlite_->prepare("INSERT INTO idempotency (scope, key, fingerprint, target, run)"
                         " VALUES (?1, ?2, ?3, ?4, ?5)"));
    insert.bind(record.scope)
        .bind(record.key)
        .bind(record.fingerprint)
        .bind(record.target)
        .bind(record.run);
    return insert.run();
}

Result<std::uint64_t> Database::append_event(const model::EventRecord& record) {
    TRY(Statement insert, sqlite_->prepare("INSERT INTO events (space, type, data, at)"
                                           " VALUES (?1, ?2, ?3, ?4)"));
    insert.bind(record.space).bind(record.type).bind(record.data).bind(record.at);
    TRY_VOID(insert.run());
    return static_cast<std::uint64_t>(sqlite_->last_insert_id());
}

Result<std::vector<model::EventRecord>> Database::events_after(
    std::uint64_t after, const std::vector<std::string>& spaces, std::size_t limit) {
    TRY(Statement query,
        sqlite_->prepare("SELECT id, space, type, data, at FROM events WHERE id > ?1"
                         " AND (?2 = '[]' OR space IN (SELECT value FROM json_each(?2)))"
                         " ORDER BY id LIMIT ?3"));
    query.bind(after).bind(to_text(spaces)).bind(static_cast<std::uint64_t>(limit));
    return all_rows<model::EventRecord>(query, read_event);
}

Result<std::uint64_t> Database::last_event_id() {
    // Also right after the newest events were trimmed away: numbers are never used again.
    TRY(const std::int64_t id, sqlite_->integer("SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence"
                                                " WHERE name = 'events'"));
    return static_cast<std::uint64_t>(id);
}

Result<void> Database::trim_events(std::uint64_t keep) {
    TRY(const std::uint64_t last, last_event_id());
    TRY(Statement remove, sqlite_->prepare("DELETE FROM events WHERE id <= ?1"));
    remove.bind(last > keep ? last - keep : 0);
    return remove.run();
}

}  // namespace host::journal
