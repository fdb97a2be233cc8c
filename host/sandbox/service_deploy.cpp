// Deploy: a folder's files, validated as a whole against what exists, then stored in one
// transaction.

#include "host/definition/parser.hpp"
#include "host/sandbox/refusals.hpp"
#include "host/sandbox/service_impl.hpp"
#include "protocol/base/name.hpp"
#include "protocol/wire/json_codec.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <boost/json/serialize.hpp>

namespace host::sandbox {

namespace {

constexpr std::size_t files_limit = 1'000;
constexpr std::string_view capsule_folder = "capsules/";
constexpr std::string_view capsule_ending = ".mtr";

// Folders of a project whose kinds this product does not have.
constexpr std::array other_kinds = {"apps", "prompts", "interactions", "models", "agents"};

// "sales-report" of "capsules/sales-report.mtr"; nullopt for every other file.
std::optional<std::string> capsule_name(std::string_view path) {
    if (path.starts_with("./")) path.remove_prefix(2);
    if (!path.starts_with(capsule_folder) || !path.ends_with(capsule_ending)) return std::nullopt;
    path.remove_prefix(capsule_folder.size());
    path.remove_suffix(capsule_ending.size());
    if (path.find('/') != std::string_view::npos) return std::nullopt;
    return std::string(path);
}

std::string why_skipped(const std::string& path) {
    const std::string folder = path.substr(0, path.find('/'));
    const auto known = std::ranges::find(other_kinds, folder);
    const std::string shown = protocol::escape_foreign(path);
    if (known != other_kinds.end()) return shown + ": " + folder + " are not supported yet";
    return shown + ": not a capsule definition (capsules/NAME.mtr)";
}

Diagnostic about_file(const SourceFile& file, std::string name, std::string message) {
    Diagnostic diagnostic;
    diagnostic.file = file.path;
    diagnostic.name = std::move(name);
    diagnostic.message = std::move(message);
    return diagnostic;
}

bool same_definition(const model::Definition& left, const model::Definition& right) {
    return protocol::to_json(left) == protocol::to_json(right);
}

}  // namespace

std::vector<Diagnostic> ServiceImpl::missing_references(const Rights& rights,
                                                        const SourceFile& file,
                                                        const std::string& space) {
    std::vector<Diagnostic> missing;
    for (const auto& reference : definition::references(file.content, space)) {
        const bool is_vfs = reference.kind == "vfs";
        const std::string kind = is_vfs ? "VFS" : "secret";
        const std::string shown = kind + " \"" + reference.target.name + "\"";
        std::string message;
        if (!rights.may_see(reference.target.space)) {
            message = "no access to namespace \"" + reference.target.space + "\"";
        } else {
            bool exists = false;
            if (is_vfs) {
                const auto found = database_.find_vfs(reference.target);
                exists = found && *found;
            } else {
                const auto found = database_.find_secret(reference.target);
                exists = found && *found;
            }
            if (exists) continue;
            message = shown + " does not exist in namespace \"" + reference.target.space +
                      "\"; create it before the deploy";
        }
        Diagnostic diagnostic = about_file(file, reference.target.name, std::move(message));
        diagnostic.line = reference.line;
        diagnostic.column = reference.column;
        missing.push_back(std::move(diagnostic));
    }
    return missing;
}

Result<DeployOutcome> ServiceImpl::deploy(const Principal& principal, std::string space,
                                          std::vector<SourceFile> files) {
    TRY_VOID(check_space(principal, space));
    TRY(const Rights rights, rights_of(principal));
    if (files.size() > files_limit) {
        return protocol::fail(protocol::Failure::with_code(
            protocol::Kind::too_large, "too-large",
            "at most " + std::to_string(files_limit) + " files in one deploy"));
    }

    DeployOutcome outcome;
    std::map<std::string, model::CapsuleRecord> records;  // by name
    const auto now = core_->clock.unix_ms();
    for (const SourceFile& file : files) {
        const auto name = capsule_name(file.path);
        if (!name) {
            outcome.report.skipped.push_back(why_skipped(file.path));
            continue;
        }
        if (!protocol::is_valid_name(*name)) {
            outcome.diagnostics.push_back(
                about_file(file, *name,
                           "\"" + protocol::escape_foreign(*name, 80) +
                               "\" is not a valid capsule name: a-z, 0-9 and '-', at most 63"));
            continue;
        }
        auto parsed = definition::parse(file.content, file.path, space);
        if (auto* findings = std::get_if<std::vector<Diagnostic>>(&parsed)) {
            std::ranges::move(*findings, std::back_inserter(outcome.diagnostics));
            continue;
        }
        std::ranges::move(missing_references(rights, file, space),
                          std::back_inserter(outcome.diagnostics));
        model::CapsuleRecord record;
        record.name.space = space;
        record.name.name = *name;
        record.definition = std::move(std::get<model::Definition>(parsed));
        record.source = file.content;
        record.created_at = now;
        record.updated_at = now;
        if (!records.emplace(*name, std::move(record)).second) {
            outcome.diagnostics.push_back(
                about_file(file, *name, "capsule \"" + *name + "\" is in this deploy twice"));
        }
    }
    if (!outcome.diagnostics.empty()) {
        outcome.report = DeployReport();
        return outcome;
    }

    TRY(auto transaction, database_.begin(journal::Durability::disk));
    for (const auto& [name, record] : records) {
        TRY(const auto present, database_.find_capsule(record.name));
        if (present && present->source == record.source &&
            same_definition(present->definition, record.definition)) {
            outcome.report.unchanged.push_back(name);
            continue;
        }
        TRY_VOID(database_.put_capsule(record));
        (present ? outcome.report.updated : outcome.report.created).push_back(name);
    }
    TRY_VOID(transaction.commit());
    return outcome;
}

}  // namespace host::sandbox
