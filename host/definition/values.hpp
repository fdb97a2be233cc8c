#pragma once
// TypedValues: takes a value out of the tree as the type a property has. A value of another type,
// or one that cannot be what the type says, becomes a finding and nullptr / nullopt.

#include "host/definition/syntax.hpp"
#include "host/model/definition.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace host::definition {

class TypedValues {
  public:
    // References without a namespace are resolved to `space`.
    TypedValues(std::string space, Findings& findings)
        : space_(std::move(space)), findings_(findings) {}

    const std::string* string(const Value& value, std::string_view name);
    const List* list(const Value& value, std::string_view name, std::size_t limit);
    const Object* object(const Value& value, std::string_view name);
    std::optional<bool> boolean(const Value& value, std::string_view name);
    std::optional<std::int64_t> integer(const Value& value, std::string_view name);
    std::optional<model::QualifiedName> reference(const Value& value, std::string_view name);
    std::optional<std::uint64_t> duration(const Value& value,
                                          std::string_view name);                  // milliseconds
    std::optional<std::uint64_t> size(const Value& value, std::string_view name);  // bytes

    void wrong_type(const Value& value, std::string_view name, std::string_view wanted);
    // Finding: "name 'value' objection".
    void object_to(Position at, std::string_view name, std::string_view value,
                   std::string_view objection);
    Findings& findings() { return findings_; }

  private:
    std::string space_;
    Findings& findings_;
};

}  // namespace host::definition
