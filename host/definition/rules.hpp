#pragma once
// Rules: what the texts in a definition may look like, each as a pure check. A check returns
// nullopt when the text is fine and otherwise the rest of a sentence that begins with the
// property's name and value: "is reserved". docs/definitions.md gives users the same rules with
// their reasons.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace host::definition {

using Objection = std::optional<std::string>;

Objection check_name(std::string_view text);  // namespaces, VFS, secrets, images
Objection check_vfs_mount_name(std::string_view text);
// A user to be created.
Objection check_new_user(std::string_view text);
// A user that a command runs as; who exists is known only in the machine.
Objection check_user(std::string_view text);
// Users and groups that Debian's base-passwd and common system packages own, and ours.
bool is_reserved_user(std::string_view text);
Objection check_package(std::string_view text);
Objection check_host_pattern(std::string_view text);  // lower-case "name" or "*.suffix"
Objection check_variable_name(std::string_view text);
Objection check_argument(std::string_view text);  // no NUL
Objection check_working_directory(std::string_view text);

// "512M", "2G": bytes. nullopt for any other form.
std::optional<std::uint64_t> parse_size(std::string_view text);

}  // namespace host::definition
