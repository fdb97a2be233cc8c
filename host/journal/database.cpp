#include "host/journal/database.hpp"

#include "host/journal/schema.hpp"
#include "host/journal/sqlite.hpp"
#include "protocol/base/unique_fd.hpp"

#include <cerrno>
#include <fcntl.h>

namespace host::journal {

namespace {

// A check of every page of a large file would hold up the start for seconds; damage in one shows
// when the page is read.
constexpr std::int64_t fully_checked_bytes = 64ll << 20;

Result<void> check(Sqlite& sqlite) {
    TRY(const std::int64_t pages, sqlite.integer("PRAGMA page_count"));
    TRY(const std::int64_t page_size, sqlite.integer("PRAGMA page_size"));
    if (pages * page_size > fully_checked_bytes) return {};
    TRY(Statement statement, sqlite.prepare("PRAGMA quick_check(1)"));
    TRY(const bool row, statement.step());
    const std::string verdict = row ? statement.text() : "no answer";
    if (verdict == "ok") return {};
    return protocol::fail(
        protocol::Failure::with_code(protocol::Kind::io, "database-damaged", verdict));
}

Result<void> prepare(Sqlite& sqlite) {
    TRY_VOID(check(sqlite));
    // Rows refer to each other by name and by id, without foreign keys: the service removes what
    // belongs together in one transaction.
    TRY_VOID(
        sqlite.script("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                      "PRAGMA trusted_schema = OFF"));
    TRY_VOID(migrate(sqlite));
    return sqlite.script("PRAGMA synchronous = NORMAL");
}

// SQLite gives its other files the mode of the first one, which it would make readable to all.
Result<void> make_private_file(const std::string& path) {
    if (path == ":memory:") return {};
    const protocol::UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (file) return {};
    return protocol::fail(protocol::Failure::from_errno("open " + path, errno));
}

protocol::Failure explain(protocol::Failure failure, const std::string& path) {
    if (failure.code() == "database-damaged") {
        return protocol::Failure::with_code(
            failure.kind(), failure.code(),
            "the database " + path + " is damaged (" + failure.message() +
                "); restore it from a backup, or move it away to start with an empty one");
    }
    return std::move(failure).context("database " + path);
}

}  // namespace

Transaction::Transaction(Transaction&& other) noexcept
    : sqlite_(std::exchange(other.sqlite_, nullptr)), durability_(other.durability_) {}

Transaction::~Transaction() {
    if (sqlite_ == nullptr) return;
    // Nothing better can be done when this fails: SQLite rolls back on the next open.
    static_cast<void>(sqlite_->script("ROLLBACK"));
    if (durability_ == Durability::disk) {
        static_cast<void>(sqlite_->script("PRAGMA synchronous = NORMAL"));
    }
}

Result<void> Transaction::commit() {
    TRY_VOID(sqlite_->script("COMMIT"));
    Sqlite* sqlite = std::exchange(sqlite_, nullptr);
    if (durability_ == Durability::disk) return sqlite->script("PRAGMA synchronous = NORMAL");
    return {};
}

Database::Database(std::unique_ptr<Sqlite> sqlite) : sqlite_(std::move(sqlite)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Result<Database> Database::open(const std::string& path) {
    TRY_VOID(make_private_file(path));
    auto opened = Sqlite::open(path);
    if (!opened) return protocol::fail(explain(std::move(opened).error(), path));
    Database database(std::make_unique<Sqlite>(std::move(*opened)));
    auto ready = prepare(*database.sqlite_);
    if (ready) ready = database.load_installation();
    if (!ready) return protocol::fail(explain(std::move(ready).error(), path));
    return database;
}

Result<Transaction> Database::begin(Durability durability) {
    if (durability == Durability::disk) {
        TRY_VOID(sqlite_->script("PRAGMA synchronous = FULL"));
    }
    auto begun = sqlite_->script("BEGIN IMMEDIATE");
    if (!begun) {
        static_cast<void>(sqlite_->script("PRAGMA synchronous = NORMAL"));
        return protocol::fail(std::move(begun).error());
    }
    return Transaction(*sqlite_, durability);
}

Result<void> Database::write_to_disk(Statement& statement) {
    if (sqlite_->in_transaction()) return statement.run();
    TRY(Transaction transaction, begin(Durability::disk));
    TRY_VOID(statement.run());
    return transaction.commit();
}

Result<void> Database::load_installation() {
    {
        TRY(Statement find, sqlite_->prepare("SELECT value FROM meta WHERE name = 'installation'"));
        TRY(const bool found, find.step());
        if (found) {
            TRY(InstallationId id, InstallationId::parse(find.text()));
            installation_ = std::move(id);
            return {};
        }
    }
    installation_ = InstallationId::random();
    TRY(Statement insert,
        sqlite_->prepare("INSERT INTO meta (name, value) VALUES ('installation', ?1)"));
    insert.bind(installation_->str());
    return write_to_disk(insert);
}

}  // namespace host::journal
