// Who may do what, at this moment.

#include "host/sandbox/refusals.hpp"
#include "host/sandbox/service_impl.hpp"
#include "protocol/base/name.hpp"

#include <algorithm>

namespace host::sandbox {

namespace {

// A run started from inside a run started from inside... ends somewhere; this ends a row gone
// wrong.
constexpr int longest_chain = 32;

constexpr std::string_view key_prefix = "key:";
constexpr std::string_view run_prefix = "run:";

}  // namespace

bool ServiceImpl::Rights::may_see(const std::string& space) const {
    return namespaces.empty() || std::ranges::find(namespaces, space) != namespaces.end();
}

Result<ServiceImpl::Rights> ServiceImpl::rights_by_name(const std::string& principal,
                                                        bool may_administer) {
    std::string name = principal;
    for (int step = 0; step < longest_chain; ++step) {
        if (name.starts_with(run_prefix)) {
            TRY(const RunId id, RunId::parse(name.substr(run_prefix.size())));
            TRY(const auto run, database_.find_run(id));
            if (!run) break;
            name = run->started_by;
            may_administer = false;
            continue;
        }
        Rights rights;
        rights.may_administer = may_administer;
        if (!name.starts_with(key_prefix)) return rights;
        TRY(const auto key, database_.find_key(name.substr(key_prefix.size())));
        if (!key) break;
        rights.namespaces = key->namespaces;
        rights.may_administer = may_administer && key->namespaces.empty();
        return rights;
    }
    return protocol::fail(protocol::Failure::with_code(
        protocol::Kind::unauthenticated, "unauthenticated", "the sign-in is no longer valid"));
}

Result<ServiceImpl::Rights> ServiceImpl::rights_of(const Principal& principal) {
    if (principal.inside) {
        const auto run = core_->find(*principal.inside);
        if (!run || run->ending()) {
            return protocol::fail(
                protocol::Failure::with_code(protocol::Kind::unauthenticated, "unauthenticated",
                                             "the sign-in of a capsule ends with its run"));
        }
    }
    return rights_by_name(principal.name, principal.may_administer && !principal.inside);
}

Result<void> ServiceImpl::check_space(const Principal& principal, const std::string& space) {
    if (!protocol::is_valid_name(space)) {
        return protocol::fail(protocol::Failure::with_code(
            protocol::Kind::invalid_argument, "invalid-name",
            "\"" + protocol::escape_foreign(space, 80) + "\" is not a valid namespace name"));
    }
    TRY(const Rights rights, rights_of(principal));
    if (!rights.may_see(space)) {
        return protocol::fail(forbidden("no access to namespace \"" + space + "\""));
    }
    TRY(const auto record, database_.find_namespace(space));
    if (!record) return protocol::fail(not_found("namespace \"" + space + "\""));
    return {};
}

Result<void> ServiceImpl::check_name(const Principal& principal, const model::QualifiedName& name) {
    TRY_VOID(check_space(principal, name.space));
    if (protocol::is_valid_name(name.name)) return {};
    return protocol::fail(protocol::Failure::with_code(
        protocol::Kind::invalid_argument, "invalid-name",
        "\"" + protocol::escape_foreign(name.name, 80) +
            "\" is not a valid name: a-z, 0-9 and '-', at most 63, not beginning with '-'"));
}

Result<model::RunRecord> ServiceImpl::find_run(const Principal& principal, const RunId& id) {
    TRY(const Rights rights, rights_of(principal));
    if (const auto live = core_->find(id); live && rights.may_see(live->record().capsule.space)) {
        return live->record();
    }
    TRY(auto found, database_.find_run(id));
    if (!found || !rights.may_see(found->capsule.space)) {
        return protocol::fail(not_found("run " + id.str()));
    }
    return std::move(*found);
}

}  // namespace host::sandbox
