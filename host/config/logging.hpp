#pragma once
// Logging of the daemon: one line per event on standard error, with time and level unless the
// journal adds them (JOURNAL_STREAM). Messages are a constant text followed by key=value; foreign
// text is escaped by who logs it (protocol::escape_foreign). docs/logging.md has the rules.

#include <string>

namespace host::config {

// `level`: one of Config's, checked.
void set_up_logging(const std::string& level);

}  // namespace host::config
