// Commands.

#include "host/journal/codec.hpp"
#include "host/journal/database.hpp"
#include "host/journal/rows.hpp"
#include "host/journal/sqlite.hpp"

namespace host::journal {

namespace {

#define COMMAND_REQUEST_COLUMNS                                                             \
    "id, run, sequence, startup, command, arguments, run_as_user, max_duration_ms, async, " \
    "input, hold_output, terminal_rows, terminal_columns, environment, working_directory, " \
    "status, end_reason, exit_code, reason, output_characters, error_characters, "          \
    "output_open, run_time_ms, peak_memory_bytes, created_at, started_at, ended_at"
#define COMMAND_COLUMNS COMMAND_REQUEST_COLUMNS ", output_window, error_window, input_text"

template <typename T>
std::optional<T> narrowed(const std::optional<std::int64_t>& number) {
    if (!number) return std::nullopt;
    return static_cast<T>(*number);
}

Result<void> read_state(Statement& row, model::CommandRecord& record) {
    const std::string status = row.text();
    const std::string reason = row.text();
    const auto known_status = model::parse_command_status(status);
    const auto known_reason = model::parse_end_reason(reason);
    if (!known_status) return protocol::fail(unreadable("command status", status));
    if (!known_reason) return protocol::fail(unreadable("end reason", reason));
    record.status = *known_status;
    record.end_reason = *known_reason;
    record.exit_code = narrowed<std::int32_t>(row.optional_integer());
    record.reason = row.text();
    record.output.characters = static_cast<std::uint64_t>(row.integer());
    record.error.characters = static_cast<std::uint64_t>(row.integer());
    record.output_open = row.integer() != 0;
    record.run_time_ms = narrowed<std::uint64_t>(row.optional_integer());
    record.peak_memory_bytes = narrowed<std::uint64_t>(row.optional_integer());
    record.created_at = row.integer();
    record.started_at = row.optional_integer();
    record.ended_at = row.optional_integer();
    return {};
}

Result<model::CommandRecord> read_without_outputs(Statement& row) {
    TRY(CommandId id, CommandId::parse(row.text()));
    TRY(RunId run, RunId::parse(row.text()));
    model::CommandRecord record(std::move(id), std::move(run));
    record.sequence = static_cast<std::uint64_t>(row.integer());
    record.startup = row.integer() != 0;
    record.command = row.text();
    TRY(record.arguments, from_text<std::vector<std::string>>(row.text(), "argument list"));
    record.run_as_user = row.text();
    record.max_duration_ms = narrowed<std::uint64_t>(row.optional_integer());
    record.async = row.integer() != 0;
    record.input = row.integer() != 0;
    record.hold_output = row.integer() != 0;
    record.terminal_rows = narrowed<std::uint16_t>(row.optional_integer());
    record.terminal_columns = narrowed<std::uint16_t>(row.optional_integer());
    TRY(record.environment, from_text<std::vector<model::Variable>>(row.text(), "environment"));
    record.working_directory = row.text();
    TRY_VOID(read_state(row, record));
    return record;
}

Result<model::CommandRecord> read_command(Statement& row) {
    TRY(model::CommandRecord record, read_without_outputs(row));
    record.output.window = row.text();
    record.error.window = row.text();
    record.input_text = row.optional_text();
    return record;
}

}  // namespace

Result<void> Database::insert_command(const model::CommandRecord& record) {
    TRY(Statement insert,
        sqlite_->prepare(
            "INSERT INTO commands (id, run, sequence, startup, command, arguments, run_as_user,"
            " max_duration_ms, async, input, hold_output, terminal_rows, terminal_columns,"
            " environment, working_directory, status, end_reason, reason, output_window,"
            " output_characters, error_window, error_characters, output_open, created_at,"
            " input_text)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,"
            " ?18, '', 0, '', 0, 0, ?19, ?20)"));
    insert.bind(record.id.str())
        .bind(record.run.str())
        .bind(record.sequence)
        .bind(record.startup)
        .bind(record.command)
        .bind(to_text(record.arguments))
        .bind(record.run_as_user)
        .bind(record.max_duration_ms)
        .bind(record.async)
        .bind(record.input)
        .bind(record.hold_output)
        .bind(narrowed<std::int64_t>(record.terminal_rows))
        .bind(narrowed<std::int64_t>(record.terminal_columns))
        .bind(to_text(record.environment))
        .bind(record.working_directory)
        .bind(to_string(record.status))
        .bind(to_string(record.end_reason))
        .bind(record.reason)
        .bind(record.created_at);
    if (record.input_text) {
        insert.bind_blob(*record.input_text);
    } else {
        insert.bind_null();
    }
    return insert.run();
}

Result<void> Database::update_command(const model::CommandRecord& record) {
    TRY(Statement update,
        sqlite_->prepare(
            "UPDATE commands SET status = ?2, end_reason = ?3, exit_code = ?4, reason = ?5,"
            " output_window = ?6, output_characters = ?7, error_window = ?8, error_characters = ?9,"
            " output_open = ?10, run_time_ms = ?11, peak_memory_bytes = ?12, started_at = ?13,"
            " ended_at = ?14, stored_bytes = ?15,"
            " input_text = CASE WHEN ?14 IS NULL THEN input_text END WHERE id = ?1"));
    update.bind(record.id.str())
        .bind(to_string(record.status))
        .bind(to_string(record.end_reason))
        .bind(record.exit_code)
        .bind(record.reason)
        .bind(record.output.window)
        .bind(record.output.characters)
        .bind(record.error.window)
        .bind(record.error.characters)
        .bind(record.output_open)
        .bind(record.run_time_ms)
        .bind(record.peak_memory_bytes)
        .bind(record.started_at)
        .bind(record.ended_at)
        .bind(static_cast<std::uint64_t>(record.output.window.size() + record.error.window.size()));
    return update.run();
}

Result<std::optional<model::CommandRecord>> Database::find_command(const RunId& run,
                                                                   const CommandId& id) {
    TRY(Statement query,
        sqlite_->prepare("SELECT " COMMAND_COLUMNS " FROM commands WHERE id = ?1 AND run = ?2"));
    query.bind(id.str()).bind(run.str());
    return one_row<model::CommandRecord>(query, read_command);
}

Result<std::vector<model::CommandRecord>> Database::startup_commands(const RunId& run) {
    TRY(Statement query,
        sqlite_->prepare("SELECT " COMMAND_COLUMNS
                         " FROM commands WHERE run = ?1 AND startup = 1 ORDER BY sequence"));
    query.bind(run.str());
    return all_rows<model::CommandRecord>(query, read_command);
}

Result<std::vector<model::CommandRecord>> Database::open_commands(const RunId& run) {
    TRY(Statement query,
        sqlite_->prepare("SELECT " COMMAND_COLUMNS
                         " FROM commands WHERE run = ?1 AND startup = 0 AND ended_at IS NULL"
                         " ORDER BY sequence"));
    query.bind(run.str());
    return all_rows<model::CommandRecord>(query, read_command);
}

Result<std::vector<model::CommandRecord>> Database::held_commands(const RunId& run) {
    TRY(Statement query,
        sqlite_->prepare("SELECT " COMMAND_COLUMNS " FROM commands WHERE run = ?1 AND held = 1"
                         " AND ended_at IS NOT NULL ORDER BY sequence"));
    query.bind(run.str());
    return all_rows<model::CommandRecord>(query, read_command);
}

Result<void> Database::set_held(const CommandId& id, bool held) {
    TRY(Statement update, sqlite_->prepare("UPDATE commands SET held = ?2 WHERE id = ?1"));
    update.bind(id.str()).bind(held);
    return update.run();
}

Result<std::vector<model::CommandRecord>> Database::commands(const RunId& run,
                                                             std::optional<std::int64_t> below,
                                                             std::size_t limit) {
    TRY(Statement query,
        sqlite_->prepare("SELECT " COMMAND_REQUEST_COLUMNS
                         " FROM commands WHERE run = ?1 AND startup = 0"
                         " AND (?2 IS NULL OR sequence < ?2) ORDER BY sequence DESC LIMIT ?3"));
    query.bind(run.str()).bind(below).bind(static_cast<std::uint64_t>(limit));
    return all_rows<model::CommandRecord>(query, read_without_outputs);
}

Result<std::uint64_t> Database::last_sequence(const RunId& run) {
    TRY(Statement query, sqlite_->prepare("SELECT COALESCE(MAX(sequence), 0) FROM commands"
                                          " WHERE run = ?1 AND startup = 0"));
    query.bind(run.str());
    TRY(const bool row, query.step());
    return row ? static_cast<std::uint64_t>(query.integer()) : 0;
}

Result<std::uint64_t> Database::stored_output_bytes() {
    TRY(const std::int64_t bytes, sqlite_->integer("SELECT COALESCE(SUM(stored_bytes), 0)"
                                                   " FROM commands WHERE stored_bytes > 0"));
    return static_cast<std::uint64_t>(bytes);
}

Result<bool> Database::drop_oldest_output() {
    TRY(Statement update,
        sqlite_->prepare(
            "UPDATE commands SET output_window = '', error_window = '', stored_bytes = 0"
            " WHERE rowid = (SELECT rowid FROM commands WHERE stored_bytes > 0"
            " AND ended_at IS NOT NULL ORDER BY ended_at LIMIT 1)"));
    TRY_VOID(update.run());
    return sqlite_->changes() > 0;
}

}  // namespace host::journal
