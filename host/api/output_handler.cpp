// Live output of a command.

#include "host/api/connection.hpp"
#include "host/api/exchange.hpp"
#include "host/api/handlers.hpp"
#include "host/api/output_pump.hpp"

namespace host::api {

using protocol::fail;

Answering follow_output(Exchange& exchange) {
    CO_TRY(const auto run, exchange.run_id());
    CO_TRY(const auto command, exchange.command_id());
    CO_TRY(const auto output_from, exchange.count("outputFrom", 0));
    CO_TRY(const auto error_from, exchange.count("errorFrom", 0));
    CO_TRY(const bool lossless, exchange.flag("lossless"));
    auto opening = exchange.service().follow(exchange.principal(), run, command, output_from,
                                             error_from, lossless);
    auto follower = co_await exchange.while_connected(std::move(opening));
    if (!follower) co_return Response::cut();
    if (!*follower) co_return fail(std::move(*follower).error());

    // A client may stop reading for a while (a stopped terminal): that alone does not end it.
    exchange.connection().set_stall_limit(limits::stalled_stream);
    Fields fields;
    fields.emplace_back("Content-Type", "application/vnd.capsule.output");
    const auto begun = co_await exchange.begin(200, std::move(fields), std::nullopt);
    if (!begun || !*begun) {
        (**follower)->close();
        if (!begun) co_return fail(begun.error());
        co_return Response::sent();
    }
    OutputPump pump(exchange, **follower, run, command);
    auto pumping = pump.run();
    const auto pumped = co_await exchange.while_connected(std::move(pumping));
    (**follower)->close();
    if (!pumped) co_return Response::cut();
    if (!*pumped) co_return fail(pumped->error());
    const auto finished = co_await exchange.finish();
    if (!finished) co_return fail(finished.error());
    co_return Response::sent();
}

}  // namespace host::api
