#pragma once
// Syntax: .mtr text to a tree of values with positions, without knowing any property. Recursive
// descent; never throws. After a mistake it goes on at the next assignment that begins a line, so
// that one missing bracket does not hide the other findings.

#include "host/definition/findings.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace host::definition {

// @ref("target"), as written.
struct Reference {
    std::string target;
};

struct Entry;
struct Value {
    Position at;
    std::variant<std::string, std::int64_t, bool, Reference, std::vector<Value>, std::vector<Entry>>
        data;
};
struct Entry {
    std::string name;
    Position at;
    Value value;
};
using List = std::vector<Value>;
using Object = std::vector<Entry>;

// The top-level assignments that could be read. Anything wrong (also text that is too long or not
// UTF-8, and repeated names) is in `findings`.
Object parse_syntax(std::string_view text, Findings& findings);

// "a string", "a list"...
std::string_view type_name(const Value& value);

}  // namespace host::definition
