// A command's terminal.

#include "host/api/connection.hpp"
#include "host/api/exchange.hpp"
#include "host/api/handlers.hpp"
#include "host/api/problem.hpp"
#include "host/api/terminal_session.hpp"

namespace host::api {

using protocol::fail;

Answering open_terminal(Exchange& exchange) {
    CO_TRY(const auto run, exchange.run_id());
    CO_TRY(const auto command, exchange.command_id());
    CO_TRY(const auto output_from, exchange.count("outputFrom", 0));
    CO_TRY(const auto input_from, exchange.count("inputFrom", 0));
    auto& service = exchange.service();
    if (!exchange.head().upgrade) {
        const auto record = co_await service.command(exchange.principal(), run, command);
        if (!record) co_return fail(record.error());
        Response refusal =
            problem("upgrade-required", "a terminal is a WebSocket: send an upgrade request");
        refusal.fields.emplace_back("Upgrade", "websocket");
        co_return refusal;
    }
    auto following = service.follow(exchange.principal(), run, command, output_from, 0, true);
    auto follower = co_await exchange.while_connected(std::move(following));
    if (!follower) co_return Response::cut();
    if (!*follower) co_return fail(std::move(*follower).error());
    auto opening = service.input(exchange.principal(), run, command, input_from);
    auto input = co_await exchange.while_connected(std::move(opening));
    if (!input || !*input) (**follower)->close();
    if (!input) co_return Response::cut();
    if (!*input) co_return fail(std::move(*input).error());

    exchange.connection().set_stall_limit(limits::stalled_stream);
    TerminalSession session(exchange.connection().shared_from_this(), exchange.shared().loop,
                            service, exchange.principal(), run, command);
    co_await session.run(exchange.head(), **follower, **input);
    co_return Response::cut();
}

}  // namespace host::api
