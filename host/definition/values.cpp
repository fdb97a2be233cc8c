#include "host/definition/values.hpp"

#include "host/definition/references.hpp"
#include "host/definition/rules.hpp"
#include "host/model/defaults.hpp"
#include "protocol/base/duration.hpp"
#include "protocol/base/name.hpp"

namespace host::definition {

void TypedValues::wrong_type(const Value& value, std::string_view name, std::string_view wanted) {
    findings_.add(value.at, std::string(name),
                  std::string(name) + " must be " + std::string(wanted) + ", not " +
                      std::string(type_name(value)));
}

void TypedValues::object_to(Position at, std::string_view name, std::string_view value,
                            std::string_view objection) {
    findings_.add(at, std::string(name),
                  std::string(name) + " " + "'" + protocol::escape_foreign(value, 80) + "'" + " " +
                      std::string(objection));
}

const std::string* TypedValues::string(const Value& value, std::string_view name) {
    const auto* text = std::get_if<std::string>(&value.data);
    if (!text) wrong_type(value, name, "a string");
    return text;
}

const List* TypedValues::list(const Value& value, std::string_view name, std::size_t limit) {
    const auto* items = std::get_if<List>(&value.data);
    if (!items) {
        wrong_type(value, name, "a list");
        return nullptr;
    }
    if (items->size() > limit) {
        findings_.add(value.at, std::string(name),
                      std::string(name) + " has " + std::to_string(items->size()) +
                          " items; at most " + std::to_string(limit) + " are allowed");
        return nullptr;
    }
    return items;
}

const Object* TypedValues::object(const Value& value, std::string_view name) {
    const auto* entries = std::get_if<Object>(&value.data);
    if (!entries) wrong_type(value, name, "an object { ... }");
    return entries;
}

std::optional<bool> TypedValues::boolean(const Value& value, std::string_view name) {
    if (const auto* flag = std::get_if<bool>(&value.data)) return *flag;
    wrong_type(value, name, "true or false");
    return std::nullopt;
}

std::optional<std::int64_t> TypedValues::integer(const Value& value, std::string_view name) {
    if (const auto* number = std::get_if<std::int64_t>(&value.data)) return *number;
    wrong_type(value, name, "a whole number");
    return std::nullopt;
}

std::optional<model::QualifiedName> TypedValues::reference(const Value& value,
                                                           std::string_view name) {
    const auto* target = std::get_if<Reference>(&value.data);
    if (!target) {
        wrong_type(value, name, "a reference such as @ref(\"name\")");
        return std::nullopt;
    }
    if (auto resolved = resolve(*target, space_)) return resolved;
    object_to(value.at, name, target->target,
              "does not name anything: a reference is @ref(\"name\") or @ref(\"namespace.name\")");
    return std::nullopt;
}

std::optional<std::uint64_t> TypedValues::duration(const Value& value, std::string_view name) {
    const auto* text = std::get_if<std::string>(&value.data);
    if (!text) {
        wrong_type(value, name, "a duration such as \"00:05:00\"");
        return std::nullopt;
    }
    const auto parsed = protocol::parse_duration(*text);
    if (!parsed) {
        object_to(value.at, name, *text,
                  "is not a duration: write \"hh:mm:ss\" and more than zero, such as \"00:05:00\"");
        return std::nullopt;
    }
    if (*parsed > model::defaults::max_duration_limit) {
        object_to(value.at, name, *text,
                  "is longer than the longest duration, " +
                      protocol::format_duration(model::defaults::max_duration_limit));
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(parsed->count());
}

std::optional<std::uint64_t> TypedValues::size(const Value& value, std::string_view name) {
    const auto* text = std::get_if<std::string>(&value.data);
    if (!text) {
        wrong_type(value, name, "a size such as \"512M\" or \"2G\"");
        return std::nullopt;
    }
    const auto bytes = parse_size(*text);
    if (!bytes) object_to(value.at, name, *text, "is not a size: write \"512M\" or \"2G\"");
    return bytes;
}

}  // namespace host::definition
