#include "host/definition/references.hpp"

#include "protocol/base/name.hpp"

namespace host::definition {

std::optional<model::QualifiedName> resolve(const Reference& reference, const std::string& space) {
    model::QualifiedName result;
    const std::size_t dot = reference.target.find('.');
    if (dot == std::string::npos) {
        result.space = space;
        result.name = reference.target;
    } else {
        result.space = reference.target.substr(0, dot);
        result.name = reference.target.substr(dot + 1);
        if (!protocol::is_valid_name(result.space)) return std::nullopt;
    }
    if (!protocol::is_valid_name(result.name)) return std::nullopt;
    return result;
}

}  // namespace host::definition
