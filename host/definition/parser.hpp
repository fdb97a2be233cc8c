#pragma once
// The .mtr language: text in, Definition or diagnostics out. Pure. Grammar: assignments `name =
// value`; values are strings (JSON escapes), integers, booleans, [lists], {objects}, @ref("name")
// or @ref("namespace.name"); entries are separated by line ends or commas; // comments; UTF-8 BOM
// and CRLF accepted. docs/definitions.md is the user's text.

#include "host/model/definition.hpp"
#include "host/sandbox/service.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace host::definition {

// References without a namespace are resolved to `space`. All findings are reported, not just the
// first (at most 20). The returned diagnostics carry `file` as given.
std::variant<model::Definition, std::vector<sandbox::Diagnostic>> parse(std::string_view text,
                                                                        const std::string& file,
                                                                        const std::string& space);

// Where each reference stood, so that a missing VFS can be reported at its place.
struct ReferencePosition {
    ReferencePosition() = default;
    std::string kind;  // "vfs" or "secret"
    model::QualifiedName target;
    std::size_t line = 0, column = 0;
};
std::vector<ReferencePosition> references(std::string_view text, const std::string& space);

}  // namespace host::definition
