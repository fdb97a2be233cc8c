#include "host/egress/proxy/exchange.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/write.hpp>

namespace host::egress {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

using Request = http::request<http::buffer_body>;
using Response = http::response<http::buffer_body>;
using ResponseParser = http::response_parser<http::buffer_body>;

constexpr char via[] = "1.1 capsule-egress";

std::string_view view(boost::beast::string_view text) {
    return {text.data(), text.size()};
}

// Fields that speak of one connection only, and those that are written anew.
bool is_hop_by_hop(http::field name, std::string_view text) {
    constexpr std::array fields = {http::field::connection,
                                   http::field::keep_alive,
                                   http::field::proxy_authenticate,
                                   http::field::proxy_authorization,
                                   http::field::proxy_connection,
                                   http::field::te,
                                   http::field::trailer,
                                   http::field::transfer_encoding,
                                   http::field::upgrade,
                                   http::field::http2_settings};
    if (name != http::field::unknown)
        return std::find(fields.begin(), fields.end(), name) != fields.end();
    return boost::beast::iequals(boost::beast::string_view(text.data(), text.size()),
                                 "Proxy-Status");
}

template <typename Fields>
bool named_by_connection(const Fields& fields, boost::beast::string_view name) {
    const auto range = fields.equal_range(http::field::connection);
    for (auto at = range.first; at != range.second; ++at) {
        if (http::token_list(at->value()).exists(name)) return true;
    }
    return false;
}

template <typename From, typename To>
void copy_fields(const From& from, To& to) {
    for (const auto& field : from) {
        if (is_hop_by_hop(field.name(), view(field.name_string()))) continue;
        // How long the body is must be said, whatever Connection says of it.
        if (field.name() != http::field::content_length &&
            named_by_connection(from, field.name_string())) {
            continue;
        }
        if (field.name() == http::field::unknown) {
            to.insert(field.name_string(), field.value());
        } else {
            to.insert(field.name(), field.name_string(), field.value());
        }
    }
}

Request outgoing(const RequestParser& parser, const Target& target) {
    const auto& request = parser.get();
    Request out;
    out.version(11);
    out.method_string(request.method_string());
    out.target(target.path);
    copy_fields(request, out);
    const bool usual = target.port == 80;
    out.set(http::field::host, usual ? target.authority().substr(0, target.authority().rfind(':'))
                                     : target.authority());
    out.erase(http::field::expect);
    out.set(http::field::via, via);
    out.set(http::field::connection, "close");
    if (parser.chunked()) out.chunked(true);
    return out;
}

// Moves a message's body from one side to the other as it comes. False: one of them failed.
template <typename From, typename Parser, typename To, typename Serializer, typename Message>
asio::awaitable<bool> move_body(From& from, boost::beast::flat_buffer& buffer, Parser& parser,
                                To& to, Serializer& serializer, Message& message,
                                std::shared_ptr<Watchdog> watchdog) {
    std::vector<char> bytes(limits::buffer_bytes);
    // Beast reads as much as there is room for, and makes room for 512 bytes only.
    buffer.reserve(std::min(bytes.size(), buffer.max_size()));
    bool more = !parser.is_done();
    while (more) {
        parser.get().body().data = bytes.data();
        parser.get().body().size = bytes.size();
        const auto [read_error, read] = co_await http::async_read_some(
            from, buffer, parser, asio::as_tuple(asio::use_awaitable));
        static_cast<void>(read);
        if (read_error && read_error != http::error::need_buffer) co_return false;
        watchdog->touch();
        more = !parser.is_done();
        const std::size_t size = bytes.size() - parser.get().body().size;
        if (size == 0) continue;
        message.body().data = bytes.data();
        message.body().size = size;
        message.body().more = true;
        const auto [write_error, written] =
            co_await http::async_write(to, serializer, asio::as_tuple(asio::use_awaitable));
        static_cast<void>(written);
        if (write_error && write_error != http::error::need_buffer) co_return false;
        watchdog->touch();
    }
    message.body().data = nullptr;
    message.body().size = 0;
    message.body().more = false;
    const auto [error, written] =
        co_await http::async_write(to, serializer, asio::as_tuple(asio::use_awaitable));
    static_cast<void>(written);
    co_return !error;
}

bool is_number(boost::beast::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// How far the request's body is; the answer is read meanwhile, because a server may answer first.
struct Upload {
    explicit Upload(asio::any_io_executor executor)
        : done(std::move(executor), asio::steady_timer::time_point::max()) {}
    asio::steady_timer done;  // cancelled when it is over
    bool over = false;
    bool whole = false;
};

asio::awaitable<void> until_over(std::shared_ptr<Upload> uploading) {
    while (!uploading->over) {
        const auto [error] =
            co_await uploading->done.async_wait(asio::as_tuple(asio::use_awaitable));
        static_cast<void>(error);
    }
}

asio::awaitable<bool> send_request(std::shared_ptr<Wires> wires, Target target,
                                   std::shared_ptr<RequestParser> parser) {
    Request out = outgoing(*parser, target);
    out.body().data = nullptr;
    out.body().more = true;
    http::request_serializer<http::buffer_body> serializer(out);
    const auto [error, size] = co_await http::async_write_header(
        *wires->server, serializer, asio::as_tuple(asio::use_awaitable));
    static_cast<void>(size);
    if (error) co_return false;
    if (!parser->is_done() && parser->get().count(http::field::expect) != 0) {
        constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
        const auto [failed, sent] = co_await asio::async_write(wires->client, asio::buffer(go_on),
                                                               asio::as_tuple(asio::use_awaitable));
        static_cast<void>(sent);
        if (failed) co_return false;
    }
    auto moving = move_body(wires->client, wires->client_buffer, *parser, *wires->server,
                            serializer, out, wires->watchdog);
    const bool moved = co_await std::move(moving);
    co_return moved;
}

asio::awaitable<void> upload(std::shared_ptr<Wires> wires, Target target,
                             std::shared_ptr<RequestParser> parser, std::shared_ptr<Upload> state) {
    auto sending = send_request(wires, std::move(target), parser);
    state->whole = co_await std::move(sending);
    state->over = true;
    state->done.cancel();
}

struct Download {
    Download() : buffer(limits::response_header_bytes + limits::buffer_bytes) {}
    boost::beast::flat_buffer buffer;
    std::unique_ptr<ResponseParser> parser;
};

// The final answer's header, past interim ones. False: there is none.
asio::awaitable<bool> read_answer(std::shared_ptr<Wires> wires, bool head_only,
                                  std::shared_ptr<Download> download) {
    for (int answers = 0; answers <= limits::interim_responses; ++answers) {
        download->parser = std::make_unique<ResponseParser>();
        download->parser->header_limit(limits::response_header_bytes);
        download->parser->body_limit(boost::none);
        if (head_only) download->parser->skip(true);
        const auto [error, size] =
            co_await http::async_read_header(*wires->server, download->buffer, *download->parser,
                                             asio::as_tuple(asio::use_awaitable));
        static_cast<void>(size);
        if (error) co_return false;
        wires->watchdog->touch();
        const unsigned status = download->parser->get().result_int();
        if (status >= 200) co_return true;
        if (status == 101) co_return false;  // nobody asked for another protocol
    }
    co_return false;
}

enum class Passed : std::uint8_t { nothing, whole_keep, whole_close, broken };

asio::awaitable<Passed> pass_answer(std::shared_ptr<Wires> wires,
                                    std::shared_ptr<RequestParser> request,
                                    std::shared_ptr<Upload> uploading) {
    const bool head_only = request->get().method() == http::verb::head;
    const bool client_keeps = request->get().keep_alive();
    const unsigned client_version = request->get().version();
    const auto download = std::make_shared<Download>();
    auto reading = read_answer(wires, head_only, download);
    const bool read = co_await std::move(reading);
    if (!read) co_return Passed::nothing;
    ResponseParser& parser = *download->parser;
    const auto& answer = parser.get();
    Response out;
    out.version(client_version);
    out.result(answer.result_int());
    out.reason(answer.reason());
    copy_fields(answer, out);
    out.set(http::field::via, via);
    const bool bodiless = head_only || parser.is_done();
    const bool unknown_length = !bodiless && (parser.chunked() || parser.need_eof());
    if (request->is_done()) {
        // All of it has been read, and a server that answers has most likely taken it too: whether
        // this connection can go on is known in a moment.
        auto waiting = until_over(uploading);
        co_await std::move(waiting);
    }
    bool keeps = client_keeps && uploading->over && uploading->whole;
    if (unknown_length && client_version == 11) out.chunked(true);
    if (unknown_length && client_version != 11) keeps = false;
    out.keep_alive(keeps);
    out.body().data = nullptr;
    out.body().more = !bodiless;
    http::response_serializer<http::buffer_body> serializer(out);
    const auto [error, size] = co_await http::async_write_header(
        wires->client, serializer, asio::as_tuple(asio::use_awaitable));
    static_cast<void>(size);
    if (error) co_return Passed::broken;
    if (!bodiless) {
        auto moving = move_body(*wires->server, download->buffer, parser, wires->client, serializer,
                                out, wires->watchdog);
        const bool moved = co_await std::move(moving);
        if (!moved) co_return Passed::broken;
    }
    co_return keeps ? Passed::whole_keep : Passed::whole_close;
}

}  // namespace

std::optional<std::string> smuggling_in(const RequestParser::value_type& request) {
    if (request.version() != 10 && request.version() != 11)
        return "it is neither HTTP/1.0 nor HTTP/1.1";
    const auto fields = static_cast<std::size_t>(std::distance(request.begin(), request.end()));
    if (fields > limits::fields)
        return "it has more than " + std::to_string(limits::fields) + " header fields";
    const auto lengths = request.count(http::field::content_length);
    const auto encodings = request.count(http::field::transfer_encoding);
    if (request.count(http::field::host) > 1) return "it has several Host fields";
    if (lengths > 1) return "it has several Content-Length fields";
    if (lengths == 1 && !is_number(request[http::field::content_length])) {
        return "its Content-Length is not one number";
    }
    if (encodings > 1 || (encodings == 1 && lengths == 1))
        return "it states the length of its body twice";
    if (encodings == 1) {
        if (!boost::beast::iequals(request[http::field::transfer_encoding], "chunked")) {
            return "it has a transfer encoding other than chunked";
        }
        if (request.version() == 10) return "HTTP/1.0 has no transfer encodings";
    }
    if (request.count(http::field::expect) != 0 &&
        !boost::beast::iequals(request[http::field::expect], "100-continue")) {
        return "it expects something else than 100-continue";
    }
    return std::nullopt;
}

asio::awaitable<bool> exchange(std::shared_ptr<Wires> wires, Target target,
                               std::shared_ptr<RequestParser> parser) {
    const auto executor = wires->client.get_executor();
    const bool head_only = target.method == "HEAD";
    const std::string server = target.authority();
    wires->watchdog->allow(limits::idle_time);
    const auto uploading = std::make_shared<Upload>(executor);
    auto finished = [uploading](std::exception_ptr error) {
        uploading->over = true;
        uploading->whole = uploading->whole && !error;
        uploading->done.cancel();
    };
    asio::co_spawn(executor, upload(wires, std::move(target), parser, uploading),
                   std::move(finished));
    auto passing = pass_answer(wires, parser, uploading);
    const Passed passed = co_await std::move(passing);
    // An answer that came before its question was whole, or none, ends both connections' reading.
    wires->close_server();
    if (!uploading->over) {
        error_code ignored;
        wires->client.shutdown(Wires::Client::shutdown_receive, ignored);
    }
    auto waiting = until_over(uploading);
    co_await std::move(waiting);
    if (passed == Passed::nothing) {
        auto answering = send_answer(
            wires, 502,
            server + " closed the connection or answered with something that is no HTTP.",
            head_only);
        co_await std::move(answering);
        co_return false;
    }
    if (passed == Passed::broken) wires->close();
    co_return passed == Passed::whole_keep;
}

}  // namespace host::egress
