#include "host/journal/sqlite.hpp"

#include <sqlite3.h>

namespace host::journal {

namespace {

protocol::Failure failure_of(sqlite3* database, std::string_view what) {
    const int code = sqlite3_errcode(database);
    std::string message = std::string(what) + ": " + sqlite3_errmsg(database);
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
        return protocol::Failure::with_code(protocol::Kind::io, "database-damaged",
                                            std::move(message));
    }
    return protocol::Failure(protocol::Kind::io, std::move(message));
}

// SQLITE_TRANSIENT is a cast of -1 to a function pointer; named once, so that the warning about old
// casts has one place.
const auto copy_bytes = reinterpret_cast<sqlite3_destructor_type>(-1);

}  // namespace

Statement::~Statement() {
    if (statement_ == nullptr) return;
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
}

// A failing bind leaves the parameter NULL; every column that must have a value is NOT NULL, so
// that the statement fails then.
Statement& Statement::bind(std::string_view text) {
    sqlite3_bind_text64(statement_, ++bound_, text.data() == nullptr ? "" : text.data(),
                        text.size(), copy_bytes, SQLITE_UTF8);
    return *this;
}

Statement& Statement::bind(std::int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
}

Statement& Statement::bind_blob(std::string_view bytes) {
    sqlite3_bind_blob64(statement_, ++bound_, bytes.data() == nullptr ? "" : bytes.data(),
                        bytes.size(), copy_bytes);
    return *this;
}

Statement& Statement::bind_null() {
    sqlite3_bind_null(statement_, ++bound_);
    return *this;
}

Result<bool> Statement::step() {
    column_ = 0;
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return protocol::fail(failure_of(database_, "the database refused"));
}

Result<void> Statement::run() {
    TRY(const bool row, step());
    static_cast<void>(row);
    return {};
}

std::string Statement::text() {
    const int column = column_++;
    // Blob and text alike: bytes with a length, so that NUL is kept.
    const void* bytes = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    if (bytes == nullptr || size <= 0) return {};
    return std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

std::int64_t Statement::integer() {
    return sqlite3_column_int64(statement_, column_++);
}

std::optional<std::int64_t> Statement::optional_integer() {
    const int column = column_++;
    if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
    return sqlite3_column_int64(statement_, column);
}

std::optional<std::string> Statement::optional_text() {
    if (sqlite3_column_type(statement_, column_) != SQLITE_NULL) return text();
    ++column_;
    return std::nullopt;
}

void Sqlite::Closer::operator()(sqlite3* database) const {
    sqlite3_close_v2(database);
}
void Sqlite::Finalizer::operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);
}

Result<Sqlite> Sqlite::open(const std::string& path) {
    sqlite3* raw = nullptr;
    const int code = sqlite3_open_v2(
        path.c_str(), &raw,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
        nullptr);
    Sqlite database(raw);  // SQLite gives a handle even when opening failed; it must be closed
    if (code != SQLITE_OK) {
        if (raw == nullptr) return protocol::fail(protocol::Kind::io, "no memory for SQLite");
        return protocol::fail(failure_of(raw, "cannot open " + path));
    }
    sqlite3_extended_result_codes(raw, 0);
    sqlite3_busy_timeout(raw, 5'000);
    return database;
}

Result<void> Sqlite::script(const char* sql) {
    if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
    return protocol::fail(failure_of(database_.get(), "the database refused"));
}

Result<std::int64_t> Sqlite::integer(const char* sql) {
    TRY(Statement statement, prepare(sql));
    TRY(const bool row, statement.step());
    return row ? statement.integer() : 0;
}

Result<Statement> Sqlite::prepare(const char* sql) {
    auto found = statements_.find(sql);
    if (found == statements_.end()) {
        sqlite3_stmt* raw = nullptr;
        if (sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &raw,
                               nullptr) != SQLITE_OK) {
            return protocol::fail(failure_of(database_.get(), "the database refused"));
        }
        found = statements_.emplace(sql, raw).first;
    }
    return Statement(database_.get(), found->second.get());
}

int Sqlite::changes() const {
    return sqlite3_changes(database_.get());
}
std::int64_t Sqlite::last_insert_id() const {
    return sqlite3_last_insert_rowid(database_.get());
}
bool Sqlite::in_transaction() const {
    return sqlite3_get_autocommit(database_.get()) == 0;
}

}  // namespace host::journal
