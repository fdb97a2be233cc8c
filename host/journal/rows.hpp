#pragma once
// Reading the rows of a query with a function that reads one. Private to host/journal.

#include "host/journal/sqlite.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace host::journal {

template <typename T, typename Read>
Result<std::vector<T>> all_rows(Statement& statement, Read read) {
    std::vector<T> rows;
    for (;;) {
        TRY(const bool row, statement.step());
        if (!row) return rows;
        TRY(T record, read(statement));
        rows.push_back(std::move(record));
    }
}

template <typename T, typename Read>
Result<std::optional<T>> one_row(Statement& statement, Read read) {
    TRY(const bool row, statement.step());
    if (!row) return std::optional<T>();
    TRY(T record, read(statement));
    return std::optional<T>(std::move(record));
}

}  // namespace host::journal
