#pragma once
// What a reference in a definition points to.

#include "host/definition/syntax.hpp"
#include "host/model/definition.hpp"

#include <optional>
#include <string>

namespace host::definition {

// "name" in `space`, or "namespace.name"; nullopt when a part is not a valid name.
std::optional<model::QualifiedName> resolve(const Reference& reference, const std::string& space);

}  // namespace host::definition
