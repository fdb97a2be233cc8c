// The daemon itself: health, the API's description, the host, keys.

#include "host/api/exchange.hpp"
#include "host/api/handlers.hpp"
#include "host/api/openapi.hpp"
#include "host/api/records_json.hpp"

#include <boost/describe.hpp>

namespace host::api {

namespace json = boost::json;
using protocol::fail;

namespace {

struct KeyBody {
    KeyBody() = default;
    std::string label;
    std::vector<std::string> namespaces;
};
BOOST_DESCRIBE_STRUCT(KeyBody, (), (label, namespaces))

}  // namespace

Answering get_health(Exchange&) {
    json::object body;
    body["status"] = "ok";
    body["version"] = CAPSULE_VERSION;
    co_return Response::json(200, body);
}

Answering get_openapi(Exchange& exchange) {
    co_return Response::json(200, openapi_document(exchange.shared().router.routes()));
}

Answering get_host(Exchange& exchange) {
    auto report = co_await exchange.service().host_report();
    if (!report) co_return fail(std::move(report).error());
    co_return Response::json(200, *report);
}

Answering list_keys(Exchange& exchange) {
    CO_TRY(const auto records, exchange.service().keys(exchange.principal()));
    co_return Response::json(200, json_list(records, record_json));
}

Answering create_key(Exchange& exchange) {
    auto body = co_await exchange.json_body<KeyBody>();
    if (!body) co_return fail(std::move(body).error());
    CO_TRY(const auto made,
           exchange.service().create_key(exchange.principal(), body->label, body->namespaces));
    json::object answer = to_json(made.first);
    answer["key"] = made.second;
    co_return Response::json(201, answer);
}

Answering delete_key(Exchange& exchange) {
    CO_TRY_VOID(exchange.service().delete_key(exchange.principal(), exchange.segment("id")));
    co_return Response(204);
}

}  // namespace host::api
