#pragma once
// Properties: reads an object by a table of the properties it may have. Unknown ones get a finding
// with the known name they resemble, missing required ones a finding at the object.

#include "host/definition/syntax.hpp"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace host::definition {

struct Property {
    std::string_view name;
    std::function<void(const Value&)> read;
    enum class Need : std::uint8_t { optional, required } need = Need::optional;
};

void read_properties(const Object& object, Position at, const std::vector<Property>& properties,
                     Findings& findings);

// The candidate that `text` is most likely a misspelling of.
std::optional<std::string_view> resembling(std::string_view text,
                                           const std::vector<std::string_view>& candidates);

}  // namespace host::definition
