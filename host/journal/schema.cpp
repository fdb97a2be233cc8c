#include "host/journal/schema.hpp"

#include <array>
#include <string>

namespace host::journal {

namespace {

// Steps are only ever appended; one that was released is never edited.
constexpr std::array steps = {
    R"sql(
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE namespaces (name TEXT PRIMARY KEY, created_at INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE vfs (
    space TEXT NOT NULL, name TEXT NOT NULL, folder TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (space, name)
) WITHOUT ROWID;
-- Folders that exist, or may exist, without a row in vfs: being made or being removed.
CREATE TABLE loose_folders (folder TEXT PRIMARY KEY) WITHOUT ROWID;

CREATE TABLE secrets (
    space TEXT NOT NULL, name TEXT NOT NULL, sealed BLOB NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    PRIMARY KEY (space, name)
);

CREATE TABLE capsules (
    space TEXT NOT NULL, name TEXT NOT NULL, definition TEXT NOT NULL, source TEXT NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    PRIMARY KEY (space, name)
);

CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    space TEXT NOT NULL, capsule TEXT NOT NULL, definition TEXT NOT NULL,
    status TEXT NOT NULL, phase TEXT NOT NULL, failure_details TEXT NOT NULL,
    started_by TEXT NOT NULL, accelerator TEXT NOT NULL, transport TEXT NOT NULL,
    created_at INTEGER NOT NULL, ready_at INTEGER, ended_at INTEGER,
    host_boot_id TEXT NOT NULL, deadline_boottime_ms INTEGER NOT NULL,
    uid INTEGER NOT NULL, agent_boot_id TEXT NOT NULL, cid INTEGER NOT NULL,
    pending_status TEXT
);
CREATE INDEX runs_live ON runs (ended_at) WHERE ended_at IS NULL;
CREATE INDEX runs_by_space ON runs (space, number);

CREATE TABLE commands (
    run TEXT NOT NULL, sequence INTEGER NOT NULL, id TEXT NOT NULL UNIQUE,
    startup INTEGER NOT NULL,
    command TEXT NOT NULL, arguments TEXT NOT NULL, run_as_user TEXT NOT NULL,
    max_duration_ms INTEGER, async INTEGER NOT NULL, input INTEGER NOT NULL,
    hold_output INTEGER NOT NULL, terminal_rows INTEGER, terminal_columns INTEGER,
    environment TEXT NOT NULL, working_directory TEXT NOT NULL,
    status TEXT NOT NULL, end_reason TEXT NOT NULL, exit_code INTEGER, reason TEXT NOT NULL,
    output_window TEXT NOT NULL, output_characters INTEGER NOT NULL,
    error_window TEXT NOT NULL, error_characters INTEGER NOT NULL,
    output_open INTEGER NOT NULL, run_time_ms INTEGER, peak_memory_bytes INTEGER,
    created_at INTEGER NOT NULL, started_at INTEGER, ended_at INTEGER,
    -- The agent may still hold the command: it was dispatched and `forget` was not confirmed.
    held INTEGER NOT NULL DEFAULT 0,
    stored_bytes INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, startup, sequence)
);
CREATE INDEX commands_open ON commands (run) WHERE ended_at IS NULL;
CREATE INDEX commands_stored ON commands (ended_at, stored_bytes) WHERE stored_bytes > 0;

CREATE TABLE idempotency (
    scope TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, target TEXT NOT NULL,
    run TEXT NOT NULL,
    PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_by_run ON idempotency (run);

CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    space TEXT NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL, at INTEGER NOT NULL
);

CREATE TABLE api_keys (
    id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, namespaces TEXT NOT NULL,
    label TEXT NOT NULL, created_at INTEGER NOT NULL
) WITHOUT ROWID;
)sql",
    R"sql(
-- The whole standard input of a command that was sent with one, until it has ended.
ALTER TABLE commands ADD COLUMN input_text BLOB;
)sql",
    R"sql(
-- The image of capsules that name none; '': the host's.
ALTER TABLE namespaces ADD COLUMN image TEXT NOT NULL DEFAULT '';
)sql",
};

}  // namespace

Result<void> migrate(Sqlite& database) {
    TRY(const std::int64_t version, database.integer("PRAGMA user_version"));
    constexpr auto newest = static_cast<std::int64_t>(steps.size());
    if (version > newest || version < 0) {
        return protocol::fail(protocol::Failure::with_code(
            protocol::Kind::unsupported, "database-newer",
            "the database has schema " + std::to_string(version) + ", this version knows " +
                std::to_string(newest) + "; use the version that wrote it"));
    }
    for (auto step = version; step < newest; ++step) {
        TRY_VOID(database.script("BEGIN IMMEDIATE"));
        const std::string mark = "PRAGMA user_version = " + std::to_string(step + 1);
        auto applied = database.script(steps[static_cast<std::size_t>(step)]);
        if (applied) applied = database.script(mark.c_str());
        if (applied) applied = database.script("COMMIT");
        if (!applied) {
            // The failure that matters is the first one.
            static_cast<void>(database.script("ROLLBACK"));
            return applied;
        }
    }
    return {};
}

}  // namespace host::journal
