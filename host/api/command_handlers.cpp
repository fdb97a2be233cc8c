// Commands: send, list, show and wait, kill, resize, standard input.

#include "host/api/command_request.hpp"
#include "host/api/exchange.hpp"
#include "host/api/handlers.hpp"
#include "host/api/records_json.hpp"
#include "host/api/waiting.hpp"

#include <boost/describe.hpp>

namespace host::api {

namespace json = boost::json;
using protocol::fail;
using protocol::Kind;
using protocol::Result;

namespace {

struct KillBody {
    KillBody() = default;
    std::optional<std::int32_t> signal;
};
BOOST_DESCRIBE_STRUCT(KillBody, (), (signal))

struct CommandIds {
    CommandIds(protocol::RunId of_run, protocol::CommandId of_command)
        : run(std::move(of_run)), command(std::move(of_command)) {}
    protocol::RunId run;
    protocol::CommandId command;
};

Result<CommandIds> ids_of(const Exchange& exchange) {
    TRY(auto run, exchange.run_id());
    TRY(auto command, exchange.command_id());
    return CommandIds(std::move(run), std::move(command));
}

}  // namespace

Answering send_command(Exchange& exchange) {
    CO_TRY(const auto run, exchange.run_id());
    CO_TRY(const auto key, exchange.idempotency_key());
    const auto body = co_await exchange.whole_body();
    if (!body) co_return fail(body.error());
    CO_TRY(auto request, parse_command(*body));
    CO_TRY(const auto record,
           exchange.service().exec(exchange.principal(), run, std::move(request), key));
    co_return Response::json(201, to_json(record, Outputs::with));
}

Answering list_commands(Exchange& exchange) {
    CO_TRY(const auto run, exchange.run_id());
    CO_TRY(const auto page, exchange.page());
    CO_TRY(const auto found, exchange.service().commands(exchange.principal(), run, page));
    json::object body = json_list(
        found.items, [](const auto& record) { return to_json(record, Outputs::without); });
    body["next"] = found.next;
    co_return Response::json(200, body);
}

Answering get_command(Exchange& exchange) {
    CO_TRY(const auto ids, ids_of(exchange));
    CO_TRY(const auto limit, exchange.wait());
    if (limit.count() == 0) {
        const auto record =
            co_await exchange.service().command(exchange.principal(), ids.run, ids.command);
        if (!record) co_return fail(record.error());
        co_return Response::json(200, to_json(*record, Outputs::with));
    }
    CO_TRY(const auto ticket, WaitingTicket::take(exchange));
    auto waiting =
        exchange.service().wait_command(exchange.principal(), ids.run, ids.command, limit);
    auto record = co_await exchange.while_connected(std::move(waiting));
    if (!record) co_return Response::cut();
    if (!*record) co_return fail(std::move(*record).error());
    co_return Response::json(200, to_json(**record, Outputs::with));
}

Answering kill_command(Exchange& exchange) {
    CO_TRY(const auto ids, ids_of(exchange));
    const auto body = co_await exchange.json_body<KillBody>();
    if (!body) co_return fail(body.error());
    const int number = body->signal.value_or(9);
    if (number < 1 || number > 64)
        co_return fail(Kind::invalid_argument, "$.signal: must be from 1 to 64");
    const auto record = co_await exchange.service().kill_command(exchange.principal(), ids.run,
                                                                 ids.command, number);
    if (!record) co_return fail(record.error());
    co_return Response::json(200, to_json(*record, Outputs::with));
}

Answering resize_command(Exchange& exchange) {
    CO_TRY(const auto ids, ids_of(exchange));
    const auto size = co_await exchange.json_body<protocol::TerminalSize>();
    if (!size) co_return fail(size.error());
    if (size->rows == 0 || size->columns == 0) {
        co_return fail(Kind::invalid_argument, "rows and columns must be at least 1");
    }
    const auto done = co_await exchange.service().resize_command(exchange.principal(), ids.run,
                                                                 ids.command, *size);
    if (!done) co_return fail(done.error());
    co_return Response(204);
}

Answering put_input(Exchange& exchange) {
    CO_TRY(const auto ids, ids_of(exchange));
    CO_TRY(const auto from, exchange.count("from", 0));
    CO_TRY(const bool close, exchange.flag("close"));
    auto opening = exchange.service().input(exchange.principal(), ids.run, ids.command, from);
    auto sink = co_await exchange.while_connected(std::move(opening));
    if (!sink) co_return Response::cut();
    if (!*sink) co_return fail(std::move(*sink).error());
    while (true) {
        // Somebody may be typing: there is no limit to the silence.
        auto piece = co_await exchange.body_piece(std::chrono::milliseconds::max());
        if (!piece) co_return fail(std::move(piece).error());
        if (piece->empty()) break;
        auto writing = (**sink)->write(std::move(*piece));
        auto written = co_await exchange.while_connected(std::move(writing));
        if (!written) co_return Response::cut();
        if (!*written) co_return fail(std::move(*written).error());
    }
    if (close) {
        const auto closed = co_await (**sink)->close();
        if (!closed) co_return fail(closed.error());
    }
    co_return Response(204);
}

}  // namespace host::api
