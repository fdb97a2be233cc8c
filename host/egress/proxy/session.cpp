#include "host/egress/proxy/session.hpp"

#include "host/egress/proxy/exchange.hpp"
#include "protocol/base/name.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace host::egress {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

Wires::Wires(Client socket) : client(std::move(socket)), client_buffer(limits::buffer_bytes) {
    client_buffer.max_size(limits::request_header_bytes + limits::buffer_bytes);
}

void Wires::close() {
    error_code ignored;
    client.close(ignored);
    close_server();
}

void Wires::close_server() {
    error_code ignored;
    if (server) server->close(ignored);
}

namespace {

// Reads one request's header. false: the connection is over (an answer was sent where one was due).
asio::awaitable<bool> read_header(std::shared_ptr<Wires> wires,
                                  std::shared_ptr<RequestParser> parser) {
    parser->header_limit(limits::request_header_bytes);
    parser->body_limit(boost::none);
    const auto [error, size] = co_await http::async_read_header(
        wires->client, wires->client_buffer, *parser, asio::as_tuple(asio::use_awaitable));
    static_cast<void>(size);
    if (!error) co_return true;
    const bool gone = error == http::error::end_of_stream ||
                      error.category() == asio::error::get_system_category() ||
                      error == asio::error::operation_aborted || error == asio::error::eof;
    if (gone) co_return false;
    const bool large = error == http::error::header_limit || error == http::error::buffer_overflow;
    auto answering = send_answer(wires, large ? 431 : 400,
                                 "The request cannot be read: " + error.message() + ".", false);
    co_await std::move(answering);
    co_return false;
}

std::string status_text(unsigned status) {
    return std::string(http::obsolete_reason(static_cast<http::status>(status)));
}

// The request's text as far as it may be shown: refusals are read by people and by logs.
std::string shown(const RequestParser::value_type& request) {
    return protocol::escape_foreign(
        std::string_view(request.target().data(), request.target().size()), 300);
}

std::string_view method_of(const RequestParser::value_type& request) {
    return {request.method_string().data(), request.method_string().size()};
}

struct Judged {
    Judged() = default;
    Target target;
    Verdict verdict;
    unsigned status = 0;  // refused with this
    std::string why;
};

Judged judge_request(const Policy& policy, const RequestParser::value_type& request) {
    Judged judged;
    if (const auto smuggling = smuggling_in(request)) {
        judged.status = 400;
        judged.why = "The request is not understood in one way only: " + *smuggling + ".";
        return judged;
    }
    auto target =
        parse_target(method_of(request), {request.target().data(), request.target().size()});
    if (!target) {
        judged.status = 400;
        judged.why = "The request's target cannot be used: " + target.error().message() + ".";
        return judged;
    }
    judged.target = std::move(*target);
    judged.verdict = judge(policy, judged.target);
    if (judged.verdict.what == Verdict::What::refused) {
        judged.status = 403;
        judged.why = judged.verdict.why;
    } else if (judged.target.method == "TRACE") {
        judged.status = 405;
        judged.why = "TRACE would show what the proxy adds and is not passed on.";
    }
    return judged;
}

// One request. False: the connection is over.
asio::awaitable<bool> serve_request(ProxyParts& parts, std::string run, const Policy& policy,
                                    std::shared_ptr<Wires> wires) {
    const auto parser = std::make_shared<RequestParser>();
    auto reading = read_header(wires, parser);
    const bool read = co_await std::move(reading);
    if (!read) co_return false;
    const auto& request = parser->get();
    const bool head_only = request.method() == http::verb::head;
    Judged judged = judge_request(policy, request);
    if (judged.status == 0) {
        wires->watchdog->allow(limits::connect_time +
                               limits::header_time);  // connect() keeps its own time
        auto connecting = parts.connector.connect(run, judged.target, judged.verdict);
        auto outcome = co_await std::move(connecting);
        if (auto* socket = std::get_if<Connector::Socket>(&outcome)) {
            wires->server.emplace(std::move(*socket));
        } else {
            judged.status = std::get<Refusal>(outcome).status;
            judged.why = std::get<Refusal>(outcome).why;
        }
    }
    if (judged.status != 0) {
        parts.log.refused(run, method_of(request), shown(request), judged.why);
        auto answering = send_answer(wires, judged.status, std::move(judged.why), head_only);
        co_await std::move(answering);
        co_return false;
    }
    error_code error;
    parts.log.allowed(run, judged.target,
                      wires->server->remote_endpoint(error).address().to_string());
    if (judged.target.form == Target::Form::absolute) {
        auto exchanging = exchange(wires, std::move(judged.target), parser);
        const bool again = co_await std::move(exchanging);
        wires->close_server();
        co_return again;
    }
    constexpr std::string_view established = "HTTP/1.1 200 Connection established\r\n\r\n";
    const auto [failed, size] = co_await asio::async_write(wires->client, asio::buffer(established),
                                                           asio::as_tuple(asio::use_awaitable));
    static_cast<void>(size);
    if (!failed) {
        auto relaying = relay(wires);
        co_await std::move(relaying);
    }
    co_return false;
}

}  // namespace

asio::awaitable<bool> send_answer(std::shared_ptr<Wires> wires, unsigned status,
                                  std::string details, bool head_only) {
    http::response<http::string_body> answer(static_cast<http::status>(status), 11);
    answer.set(http::field::content_type, "text/plain; charset=utf-8");
    answer.set("Proxy-Status", "capsule-egress");
    answer.set(http::field::cache_control, "no-store");
    answer.keep_alive(false);
    answer.body() =
        std::to_string(status) + " " + status_text(status) + " (capsule-egress): " + details + "\n";
    answer.prepare_payload();
    if (head_only) answer.body().clear();
    const auto [error, size] =
        co_await http::async_write(wires->client, answer, asio::as_tuple(asio::use_awaitable));
    static_cast<void>(size);
    co_return !error;
}

asio::awaitable<void> serve_connection(ProxyParts& parts, std::string run, Policy policy,
                                       Wires::Client socket) {
    const auto executor = socket.get_executor();
    const auto wires = std::make_shared<Wires>(std::move(socket));
    auto bite = [weak = std::weak_ptr<Wires>(wires)] {
        if (const auto alive = weak.lock()) alive->close();
    };
    wires->watchdog = std::make_shared<Watchdog>(executor, std::move(bite));
    wires->watchdog->allow(limits::header_time);
    bool again = true;
    while (again) {
        auto serving = serve_request(parts, run, policy, wires);
        again = co_await std::move(serving);
        wires->watchdog->allow(limits::keep_alive_time);
    }
    // What the client still sends must not turn the answer into a reset: it is read and thrown away
    // until it has noticed, within bounds.
    error_code ignored;
    wires->client.shutdown(Wires::Client::shutdown_send, ignored);
    wires->watchdog->allow(std::chrono::seconds(2));
    std::string rest(limits::buffer_bytes, '\0');
    for (int reads = 0; reads < 64; ++reads) {
        const auto [error, size] = co_await wires->client.async_read_some(
            asio::buffer(rest), asio::as_tuple(asio::use_awaitable));
        static_cast<void>(size);
        if (error) break;
    }
    wires->watchdog->stop();
    wires->close();
}

}  // namespace host::egress
