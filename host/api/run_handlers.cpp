// Runs: start, list, show and wait, stop, console, ping.

#include "host/api/exchange.hpp"
#include "host/api/handlers.hpp"
#include "host/api/records_json.hpp"
#include "host/api/waiting.hpp"
#include "protocol/base/name.hpp"

#include <boost/describe.hpp>

namespace host::api {

namespace json = boost::json;
using protocol::fail;
using protocol::Failure;
using protocol::Kind;
using protocol::Result;

namespace {

struct EmptyBody {
    EmptyBody() = default;
};
BOOST_DESCRIBE_STRUCT(EmptyBody, (), ())

Result<sandbox::RunFilter> filter_of(const Exchange& exchange) {
    sandbox::RunFilter filter;
    if (const std::string* space = exchange.query("namespace")) {
        if (!protocol::is_valid_name(*space)) {
            return fail(Failure::with_code(Kind::invalid_argument, "invalid-name",
                                           "query parameter 'namespace' is not a name"));
        }
        filter.space = *space;
    }
    if (const std::string* status = exchange.query("status")) {
        filter.status = model::parse_run_status(*status);
        if (!filter.status) {
            return fail(Kind::invalid_argument,
                        "query parameter 'status' must be Starting, Running, Finished, Error or "
                        "Terminated");
        }
    }
    TRY(filter.live_only, exchange.flag("live"));
    return filter;
}

Result<sandbox::Until> until_of(const Exchange& exchange) {
    const std::string* text = exchange.query("until");
    if (!text || *text == "ended") return sandbox::Until::ended;
    if (*text == "started") return sandbox::Until::started;
    return fail(Kind::invalid_argument, "query parameter 'until' must be started or ended");
}

}  // namespace

Answering start_run(Exchange& exchange) {
    CO_TRY(const auto name, exchange.qualified("name"));
    CO_TRY(const auto key, exchange.idempotency_key());
    const auto body = co_await exchange.json_body<EmptyBody>();
    if (!body) co_return fail(body.error());
    CO_TRY(const auto record, exchange.service().start(exchange.principal(), name, key));
    co_return Response::json(201, to_json(record));
}

Answering list_runs(Exchange& exchange) {
    CO_TRY(const auto filter, filter_of(exchange));
    CO_TRY(const auto page, exchange.page());
    CO_TRY(const auto found, exchange.service().runs(exchange.principal(), filter, page));
    json::object body = json_list(found.items, record_json);
    body["next"] = found.next;
    co_return Response::json(200, body);
}

Answering get_run(Exchange& exchange) {
    CO_TRY(const auto id, exchange.run_id());
    CO_TRY(const auto limit, exchange.wait());
    CO_TRY(const auto until, until_of(exchange));
    if (limit.count() == 0) {
        CO_TRY(const auto record, exchange.service().run(exchange.principal(), id));
        co_return Response::json(200, to_json(record));
    }
    CO_TRY(const auto ticket, WaitingTicket::take(exchange));
    auto waiting = exchange.service().wait_run(exchange.principal(), id, until, limit);
    auto record = co_await exchange.while_connected(std::move(waiting));
    if (!record) co_return Response::cut();
    if (!*record) co_return fail(std::move(*record).error());
    co_return Response::json(200, to_json(**record));
}

Answering terminate_run(Exchange& exchange) {
    CO_TRY(const auto id, exchange.run_id());
    const auto body = co_await exchange.json_body<EmptyBody>();
    if (!body) co_return fail(body.error());
    const auto record = co_await exchange.service().terminate(exchange.principal(), id);
    if (!record) co_return fail(record.error());
    co_return Response::json(200, to_json(*record));
}

Answering get_console(Exchange& exchange) {
    CO_TRY(const auto id, exchange.run_id());
    auto text = co_await exchange.service().console_log(exchange.principal(), id);
    if (!text) co_return fail(std::move(text).error());
    co_return Response::text(std::string(json_text(*text)));
}

Answering ping_run(Exchange& exchange) {
    CO_TRY(const auto id, exchange.run_id());
    auto pinging = exchange.service().ping(exchange.principal(), id);
    const auto took = co_await exchange.while_connected(std::move(pinging));
    if (!took) co_return Response::cut();
    if (!*took) co_return fail(took->error());
    json::object body;
    body["roundTripUs"] = std::chrono::duration_cast<std::chrono::microseconds>(**took).count();
    co_return Response::json(200, body);
}

}  // namespace host::api
