#pragma once
// Sqlite: one connection and its prepared statements, as values of ours. Private to host/journal;
// the only user of <sqlite3.h>.
//
// Threading: one owner, one thread. Errors: io with SQLite's own words; a file that is not a
// database or is damaged says so by the code "database-damaged".

#include "protocol/base/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

namespace host::journal {

using protocol::Result;

// A prepared statement while it is in use; given back to the cache, reset and unbound, at its end.
class Statement {
  public:
    Statement(sqlite3* database, sqlite3_stmt* statement)
        : database_(database), statement_(statement) {}
    Statement(Statement&& other) noexcept
        : database_(other.database_),
          statement_(std::exchange(other.statement_, nullptr)),
          bound_(other.bound_),
          column_(other.column_) {}
    Statement& operator=(Statement&&) = delete;
    ~Statement();

    // Values for the parameters ?1, ?2... in order.
    Statement& bind(std::string_view text);
    Statement& bind(std::int64_t number);
    Statement& bind(std::uint64_t number) { return bind(static_cast<std::int64_t>(number)); }
    Statement& bind(std::int32_t number) { return bind(std::int64_t{number}); }
    Statement& bind(std::uint32_t number) { return bind(std::int64_t{number}); }
    Statement& bind(bool flag) { return bind(std::int64_t{flag}); }
    Statement& bind(const char* text) { return bind(std::string_view(text)); }
    Statement& bind(const std::string& text) { return bind(std::string_view(text)); }
    Statement& bind_blob(std::string_view bytes);
    Statement& bind_null();
    template <typename T>
    Statement& bind(const std::optional<T>& value) {
        return value ? bind(*value) : bind_null();
    }

    // True: there is a row, to be read column by column with the functions below.
    Result<bool> step();
    // For statements without rows.
    Result<void> run();

    std::string text();
    std::int64_t integer();
    std::optional<std::int64_t> optional_integer();
    std::optional<std::string> optional_text();

  private:
    sqlite3* database_;
    sqlite3_stmt* statement_;
    int bound_ = 0;
    int column_ = 0;
};

class Sqlite {
  public:
    // ":memory:" for tests.
    static Result<Sqlite> open(const std::string& path);
    // Several statements without parameters or rows.
    Result<void> script(const char* sql);
    Result<std::int64_t> integer(const char* sql);
    // `sql` must be a literal: its address is the key of the cache.
    Result<Statement> prepare(const char* sql);
    int changes() const;
    std::int64_t last_insert_id() const;
    bool in_transaction() const;

  private:
    struct Closer {
        void operator()(sqlite3* database) const;
    };
    struct Finalizer {
        void operator()(sqlite3_stmt* statement) const;
    };
    explicit Sqlite(sqlite3* database) : database_(database) {}

    std::unique_ptr<sqlite3, Closer> database_;
    // After database_: statements are finalized before the connection is closed.
    std::unordered_map<const void*, std::unique_ptr<sqlite3_stmt, Finalizer>> statements_;
};

}  // namespace host::journal
