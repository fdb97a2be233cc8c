#include "host/definition/parser.hpp"

#include "host/definition/reader.hpp"
#include "host/definition/references.hpp"
#include "host/definition/syntax.hpp"

namespace host::definition {

std::variant<model::Definition, std::vector<sandbox::Diagnostic>> parse(std::string_view text,
                                                                        const std::string& file,
                                                                        const std::string& space) {
    Findings findings(file);
    const Object tree = parse_syntax(text, findings);
    Reader reader(space, findings);
    model::Definition definition = reader.definition(tree);
    if (!findings.empty()) return findings.take();
    return definition;
}

std::vector<ReferencePosition> references(std::string_view text, const std::string& space) {
    Findings ignored("");
    std::vector<ReferencePosition> result;
    for (const Entry& entry : parse_syntax(text, ignored)) {
        const bool vfs = entry.name == "vfs";
        const auto* items = std::get_if<List>(&entry.value.data);
        if ((!vfs && entry.name != "secrets") || !items) continue;
        for (const Value& item : *items) {
            const auto* members = std::get_if<Object>(&item.data);
            if (!members) continue;
            for (const Entry& member : *members) {
                const auto* reference = std::get_if<Reference>(&member.value.data);
                if (!reference) continue;
                auto target = resolve(*reference, space);
                if (!target) continue;
                ReferencePosition position;
                position.kind = vfs ? "vfs" : "secret";
                position.target = std::move(*target);
                position.line = member.value.at.line;
                position.column = member.value.at.column;
                result.push_back(std::move(position));
            }
        }
    }
    return result;
}

}  // namespace host::definition
