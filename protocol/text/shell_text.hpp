#pragma once
// Shell text of a command, checked and completed. The host checks with it when a command is sent,
// the agent prepares with it when it starts, so both have one rule: trailing white space is cut
// and, only if there are arguments, ` "$@"` is appended to the last line, so that each argument
// reaches the program as exactly one word. Pure; the text is never executed here.

#include "protocol/base/result.hpp"

#include <string>
#include <string_view>

namespace protocol {

enum class ShellArguments : bool { none, some };

// The text to hand to `SHELL -c`. invalid_argument with the reason for an empty text, a NUL byte
// and, together with arguments, for a text after which ` "$@"` would not become arguments of its
// last command: one that ends in a comment, `;`, `&` or a lone backslash, leaves a quote or bracket
// open, or holds a here-document. The scanner knows quotes, `$'...'`, substitutions and comments;
// what it cannot follow it refuses, which a caller can always avoid by `sh` with the arguments
// ["-c", text].
Result<std::string> prepare_shell_text(std::string_view text, ShellArguments arguments);

}  // namespace protocol
