// Runs.

#include "host/journal/codec.hpp"
#include "host/journal/database.hpp"
#include "host/journal/rows.hpp"
#include "host/journal/sqlite.hpp"

namespace host::journal {

namespace {

// One list of columns for every query, so that read_run() has one order to follow.
#define RUN_COLUMNS                                                                        \
    "number, id, space, capsule, definition, status, phase, failure_details, started_by, " \
    "accelerator, transport, created_at, ready_at, ended_at, host_boot_id, "               \
    "deadline_boottime_ms, uid, agent_boot_id, cid, pending_status"

Result<Numbered<model::RunRecord>> read_run(Statement& row) {
    const std::int64_t number = row.integer();
    TRY(RunId id, RunId::parse(row.text()));
    model::RunRecord record(std::move(id));
    record.capsule.space = row.text();
    record.capsule.name = row.text();
    TRY(record.definition, from_text<model::Definition>(row.text(), "definition"));
    const std::string status = row.text();
    const std::string phase = row.text();
    record.failure_details = row.text();
    record.started_by = row.text();
    record.accelerator = row.text();
    record.transport = row.text();
    record.created_at = row.integer();
    record.ready_at = row.optional_integer();
    record.ended_at = row.optional_integer();
    record.host_boot_id = row.text();
    record.deadline_boottime_ms = row.integer();
    record.uid = static_cast<std::uint32_t>(row.integer());
    record.agent_boot_id = row.text();
    record.cid = static_cast<std::uint32_t>(row.integer());
    const std::string pending = row.text();

    const auto known_status = model::parse_run_status(status);
    const auto known_phase = model::parse_run_phase(phase);
    if (!known_status) return protocol::fail(unreadable("run status", status));
    if (!known_phase) return protocol::fail(unreadable("run phase", phase));
    record.status = *known_status;
    record.phase = *known_phase;
    if (!pending.empty()) {
        record.pending_status = model::parse_run_status(pending);
        if (!record.pending_status) return protocol::fail(unreadable("run status", pending));
    }
    return Numbered<model::RunRecord>{number, std::move(record)};
}

Result<model::RunRecord> read_run_alone(Statement& row) {
    TRY(auto numbered, read_run(row));
    return std::move(numbered.record);
}

std::optional<std::string> name_of(const std::optional<model::RunStatus>& status) {
    if (!status) return std::nullopt;
    return std::string(to_string(*status));
}

Result<RunId> read_id(Statement& row) {
    return RunId::parse(row.text());
}

}  // namespace

Result<void> Database::insert_run(const model::RunRecord& record) {
    TRY(Statement insert,
        sqlite_->prepare(
            "INSERT INTO runs (id, space, capsule, definition, status, phase, failure_details,"
            " started_by, accelerator, transport, created_at, ready_at, ended_at, host_boot_id,"
            " deadline_boottime_ms, uid, agent_boot_id, cid, pending_status)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,"
            " ?18, ?19)"));
    insert.bind(record.id.str())
        .bind(record.capsule.space)
        .bind(record.capsule.name)
        .bind(to_text(record.definition))
        .bind(to_string(record.status))
        .bind(to_string(record.phase))
        .bind(record.failure_details)
        .bind(record.started_by)
        .bind(record.accelerator)
        .bind(record.transport)
        .bind(record.created_at)
        .bind(record.ready_at)
        .bind(record.ended_at)
        .bind(record.host_boot_id)
        .bind(record.deadline_boottime_ms)
        .bind(record.uid)
        .bind(record.agent_boot_id)
        .bind(record.cid)
        .bind(name_of(record.pending_status));
    return insert.run();
}

Result<void> Database::update_run(const model::RunRecord& record) {
    TRY(Statement update,
        sqlite_->prepare(
            "UPDATE runs SET status = ?2, phase = ?3, failure_details = ?4, accelerator = ?5,"
            " transport = ?6, ready_at = ?7, ended_at = ?8, uid = ?9, agent_boot_id = ?10,"
            " cid = ?11, pending_status = ?12 WHERE id = ?1"));
    update.bind(record.id.str())
        .bind(to_string(record.status))
        .bind(to_string(record.phase))
        .bind(record.failure_details)
        .bind(record.accelerator)
        .bind(record.transport)
        .bind(record.ready_at)
        .bind(record.ended_at)
        .bind(record.uid)
        .bind(record.agent_boot_id)
        .bind(record.cid)
        .bind(name_of(record.pending_status));
    return update.run();
}

Result<std::optional<model::RunRecord>> Database::find_run(const RunId& id) {
    TRY(Statement query, sqlite_->prepare("SELECT " RUN_COLUMNS " FROM runs WHERE id = ?1"));
    query.bind(id.str());
    return one_row<model::RunRecord>(query, read_run_alone);
}

Result<std::vector<model::RunRecord>> Database::live_runs() {
    TRY(Statement query, sqlite_->prepare("SELECT " RUN_COLUMNS
                                          " FROM runs WHERE ended_at IS NULL ORDER BY number"));
    return all_rows<model::RunRecord>(query, read_run_alone);
}

Result<std::vector<Numbered<model::RunRecord>>> Database::runs(const RunQuery& query) {
    TRY(Statement statement,
        sqlite_->prepare("SELECT " RUN_COLUMNS " FROM runs WHERE (?1 IS NULL OR number < ?1)"
                         " AND (?2 = '[]' OR space IN (SELECT value FROM json_each(?2)))"
                         " AND (?3 IS NULL OR status = ?3)"
                         " AND (?4 = 0 OR ended_at IS NULL)"
                         " ORDER BY number DESC LIMIT ?5"));
    statement.bind(query.below)
        .bind(to_text(query.spaces))
        .bind(name_of(query.status))
        .bind(query.live_only)
        .bind(static_cast<std::uint64_t>(query.limit));
    return all_rows<Numbered<model::RunRecord>>(statement, read_run);
}

Result<std::vector<RunId>> Database::runs_to_forget(model::UnixMillis before, std::size_t keep) {
    TRY(Statement query,
        sqlite_->prepare("SELECT id FROM runs WHERE ended_at IS NOT NULL AND (ended_at < ?1 OR"
                         " number <= (SELECT number FROM runs WHERE ended_at IS NOT NULL"
                         " ORDER BY number DESC LIMIT 1 OFFSET ?2))"
                         " ORDER BY number LIMIT 100"));
    query.bind(before).bind(static_cast<std::uint64_t>(keep));
    return all_rows<RunId>(query, read_id);
}

Result<std::optional<RunId>> Database::oldest_ended_run() {
    TRY(Statement query, sqlite_->prepare("SELECT id FROM runs WHERE ended_at IS NOT NULL"
                                          " ORDER BY number LIMIT 1"));
    return one_row<RunId>(query, read_id);
}

Result<void> Database::forget_run(const RunId& id) {
    constexpr const char* statements[] = {
        "DELETE FROM commands WHERE run = ?1",
        "DELETE FROM idempotency WHERE run = ?1",
        "DELETE FROM runs WHERE id = ?1",
    };
    TRY(Transaction transaction, begin(Durability::process));
    for (const char* sql : statements) {
        TRY(Statement statement, sqlite_->prepare(sql));
        statement.bind(id.str());
        TRY_VOID(statement.run());
    }
    return transaction.commit();
}

}  // namespace host::journal
