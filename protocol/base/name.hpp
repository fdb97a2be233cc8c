#pragma once
// Names of namespaces, capsules, VFS, secrets and mounts: [a-z0-9][a-z0-9-]{0,62}.

#include <string>
#include <string_view>

namespace protocol {

bool is_valid_name(std::string_view text);

// For logs, errors and terminals: bytes from outside with control characters and non-UTF-8 written
// as \xNN, cut at `limit` bytes with "..." appended.
std::string escape_foreign(std::string_view bytes, std::size_t limit = 200);

}  // namespace protocol
