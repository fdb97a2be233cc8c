// Namespaces, VFS, secrets and capsules.

#include "host/api/exchange.hpp"
#include "host/api/handlers.hpp"
#include "host/api/problem.hpp"
#include "host/api/records_json.hpp"
#include "protocol/base/name.hpp"
#include "protocol/wire/limits.hpp"

#include <boost/describe.hpp>

namespace host::api {

using protocol::fail;
using protocol::Failure;
using protocol::Kind;
using protocol::Result;

namespace {

struct NameBody {
    NameBody() = default;
    std::string name;
};
BOOST_DESCRIBE_STRUCT(NameBody, (), (name))

struct FileBody {
    FileBody() = default;
    std::string path, content;
};
BOOST_DESCRIBE_STRUCT(FileBody, (), (path, content))

struct DeployBody {
    DeployBody() = default;
    std::vector<FileBody> files;
};
BOOST_DESCRIBE_STRUCT(DeployBody, (), (files))

Result<std::string> checked_name(std::string name) {
    if (protocol::is_valid_name(name)) return name;
    return fail(Failure::with_code(Kind::invalid_argument, "invalid-name",
                                   "$.name: '" + protocol::escape_foreign(name, 80) +
                                       "' is not a name: 1 to 63 of a-z, 0-9 and '-'"));
}

}  // namespace

// ---- namespaces ---------------------------------------------------------------------------------

Answering list_namespaces(Exchange& exchange) {
    CO_TRY(const auto records, exchange.service().namespaces(exchange.principal()));
    co_return Response::json(200, json_list(records, record_json));
}

Answering create_namespace(Exchange& exchange) {
    auto body = co_await exchange.json_body<NameBody>();
    if (!body) co_return fail(std::move(body).error());
    CO_TRY(const auto name, checked_name(std::move(body->name)));
    CO_TRY(const auto record, exchange.service().create_namespace(exchange.principal(), name));
    co_return Response::json(201, to_json(record));
}

Answering delete_namespace(Exchange& exchange) {
    CO_TRY(const auto name, exchange.name("ns"));
    const auto done = co_await exchange.service().delete_namespace(exchange.principal(), name);
    if (!done) co_return fail(done.error());
    co_return Response(204);
}

// ---- VFS
// ------------------------------------------------------------------------------------------

Answering list_vfs(Exchange& exchange) {
    CO_TRY(const auto space, exchange.name("ns"));
    CO_TRY(const auto records, exchange.service().vfs_list(exchange.principal(), space));
    co_return Response::json(200, json_list(records, record_json));
}

Answering create_vfs(Exchange& exchange) {
    model::QualifiedName name;
    CO_TRY(name.space, exchange.name("ns"));
    auto body = co_await exchange.json_body<NameBody>();
    if (!body) co_return fail(std::move(body).error());
    CO_TRY(name.name, checked_name(std::move(body->name)));
    const auto record = co_await exchange.service().create_vfs(exchange.principal(), name);
    if (!record) co_return fail(record.error());
    co_return Response::json(201, to_json(*record));
}

Answering get_vfs(Exchange& exchange) {
    CO_TRY(const auto name, exchange.qualified("vfs"));
    CO_TRY(const auto record, exchange.service().vfs(exchange.principal(), name));
    co_return Response::json(200, to_json(record));
}

Answering delete_vfs(Exchange& exchange) {
    CO_TRY(const auto name, exchange.qualified("vfs"));
    const auto done = co_await exchange.service().delete_vfs(exchange.principal(), name);
    if (!done) co_return fail(done.error());
    co_return Response(204);
}

// ---- secrets
// --------------------------------------------------------------------------------------

Answering list_secrets(Exchange& exchange) {
    CO_TRY(const auto space, exchange.name("ns"));
    CO_TRY(const auto records, exchange.service().secrets(exchange.principal(), space));
    co_return Response::json(200, json_list(records, record_json));
}

Answering put_secret(Exchange& exchange) {
    CO_TRY(const auto name, exchange.qualified("name"));
    auto value = co_await exchange.whole_body(protocol::limits::secret_bytes);
    if (!value) co_return fail(std::move(value).error());
    CO_TRY(const auto record,
           exchange.service().set_secret(exchange.principal(), name, std::move(*value)));
    co_return Response(204);
}

Answering delete_secret(Exchange& exchange) {
    CO_TRY(const auto name, exchange.qualified("name"));
    CO_TRY_VOID(exchange.service().delete_secret(exchange.principal(), name));
    co_return Response(204);
}

// ---- capsules
// -------------------------------------------------------------------------------------

Answering deploy(Exchange& exchange) {
    CO_TRY(const auto space, exchange.name("ns"));
    auto body = co_await exchange.json_body<DeployBody>(limits::deploy_body_bytes);
    if (!body) co_return fail(std::move(body).error());
    std::vector<sandbox::SourceFile> files;
    for (FileBody& given : body->files) {
        sandbox::SourceFile file;
        file.path = std::move(given.path);
        file.content = std::move(given.content);
        files.push_back(std::move(file));
    }
    CO_TRY(const auto outcome,
           exchange.service().deploy(exchange.principal(), space, std::move(files)));
    if (!outcome.diagnostics.empty()) co_return definition_problem(outcome.diagnostics);
    co_return Response::json(200, to_json(outcome.report));
}

Answering list_capsules(Exchange& exchange) {
    CO_TRY(const auto space, exchange.name("ns"));
    CO_TRY(const auto records, exchange.service().capsules(exchange.principal(), space));
    co_return Response::json(
        200, json_list(records, [](const auto& record) { return to_json(record, Details::none); }));
}

Answering get_capsule(Exchange& exchange) {
    CO_TRY(const auto name, exchange.qualified("name"));
    CO_TRY(const auto record, exchange.service().capsule(exchange.principal(), name));
    co_return Response::json(200, to_json(record, Details::all));
}

Answering delete_capsule(Exchange& exchange) {
    CO_TRY(const auto name, exchange.qualified("name"));
    CO_TRY_VOID(exchange.service().delete_capsule(exchange.principal(), name));
    co_return Response(204);
}

}  // namespace host::api
