#pragma once
// The tables and how an older database becomes a newer one. PRAGMA user_version counts the steps
// that were applied; each step runs in a transaction of its own. Private to host/journal.

#include "host/journal/sqlite.hpp"

namespace host::journal {

// unsupported, code "database-newer", when the file was written by a newer version.
Result<void> migrate(Sqlite& database);

}  // namespace host::journal
