// Events as they happen (server-sent events), resumable.

#include "host/api/exchange.hpp"
#include "host/api/handlers.hpp"
#include "host/api/records_json.hpp"
#include "host/api/waiting.hpp"

#include <charconv>

#include <boost/json/serialize.hpp>

namespace host::api {

using protocol::fail;
using protocol::Kind;
using protocol::Result;

namespace {

// `?after=` or what the client saw last; without either only what happens from now on.
Result<std::uint64_t> first_event(Exchange& exchange) {
    if (exchange.query("after")) return exchange.count("after", 0);
    const std::string* field = exchange.head().field("Last-Event-ID");
    if (!field) return exchange.service().last_event_id();
    std::uint64_t id = 0;
    const auto [stop, error] = std::from_chars(field->data(), field->data() + field->size(), id);
    if (error == std::errc{} && stop == field->data() + field->size()) return id;
    return fail(Kind::invalid_argument, "Last-Event-ID must be the id of an event");
}

// JSON has no line breaks of its own, so each event is one `data` line.
std::string write_event(const model::EventRecord& record) {
    const auto object = to_json(record);
    const auto& type = object.at("type").as_string();
    std::string text = "id: " + std::to_string(record.id) + "\nevent: ";
    for (const char c : type) text += c == '\n' || c == '\r' ? ' ' : c;
    return text + "\ndata: " + boost::json::serialize(object) + "\n\n";
}

}  // namespace

Answering follow_events(Exchange& exchange) {
    CO_TRY(std::uint64_t after, first_event(exchange));
    CO_TRY(const auto ticket, WaitingTicket::take(exchange));
    Fields fields;
    fields.emplace_back("Content-Type", "text/event-stream");
    const auto begun = co_await exchange.begin(200, std::move(fields), std::nullopt);
    if (!begun) co_return fail(begun.error());
    if (!*begun) co_return Response::sent();
    // An id without data is not an event, but what a client that sees nothing else resumes at.
    std::string text = "retry: 1000\nid: " + std::to_string(after) + "\n\n";
    while (true) {
        const auto sent = co_await exchange.send(std::move(text));
        if (!sent) co_return fail(sent.error());
        auto waiting = exchange.service().events(exchange.principal(), after, limits::keep_alive);
        const auto events = co_await exchange.while_connected(std::move(waiting));
        if (!events) co_return Response::cut();
        if (!*events) co_return fail(events->error());
        text.clear();
        for (const auto& record : **events) {
            text += write_event(record);
            after = record.id;
        }
        if (text.empty()) text = ":\n\n";
    }
}

}  // namespace host::api
