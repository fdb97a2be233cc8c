#include "host/api/connection.hpp"

#include "host/api/exchange.hpp"
#include "host/api/limits.hpp"
#include "host/api/problem.hpp"
#include "protocol/base/name.hpp"

#include <algorithm>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace host::api {

namespace asio = boost::asio;
using protocol::fail;
using protocol::Failure;
using protocol::Kind;
using protocol::Result;
using std::chrono::steady_clock;

Connection::Connection(std::shared_ptr<Shared> shared,
                       std::shared_ptr<sandbox::TunnelStream> stream,
                       std::optional<sandbox::Principal> principal)
    : shared_(std::move(shared)),
      stream_(std::move(stream)),
      principal_(std::move(principal)),
      input_(shared_->loop, stream_),
      stall_timer_(shared_->loop),
      stall_limit_(shared_->options.idle_timeout),
      written_(shared_->loop) {}

void Connection::close() {
    stream_->close();
}

asio::awaitable<void> Connection::run() {
    using namespace asio::experimental::awaitable_operators;
    const auto self = shared_from_this();
    // serve() closes the stream when it is done, which ends the read loop.
    co_await (input_.read_loop() && serve());
}

asio::awaitable<void> Connection::serve() {
    Next next = Next::request;
    while (next == Next::request) next = co_await serve_one();
    if (next == Next::linger) co_await linger();
    stream_->close();
    // A read loop that waits for room must see that nothing will be taken any more.
    input_.bytes().clear();
    input_.consumed();
}

asio::awaitable<Connection::Next> Connection::serve_one() {
    parser_ = std::make_unique<RequestParser>();
    closing_ = head_only_ = continue_due_ = begun_ = chunked_ = false;
    status_ = 0;
    stall_limit_ = shared_->options.idle_timeout;

    if (input_.bytes().empty()) {
        const auto arrival =
            co_await input_.more(steady_clock::now() + shared_->options.idle_timeout);
        if (arrival != Input::Arrival::bytes) co_return Next::close;
    }
    const auto deadline = steady_clock::now() + shared_->options.header_timeout;
    while (true) {
        const auto complete = parser_->parse_head(input_.bytes());
        input_.consumed();
        if (!complete) {
            closing_ = true;
            Response refusal = problem(complete.error());
            co_await respond(std::move(refusal), false);
            co_return Next::linger;
        }
        if (*complete) break;
        const auto arrival = co_await input_.more(deadline);
        if (arrival == Input::Arrival::end) co_return Next::close;
        if (arrival == Input::Arrival::late) {
            closing_ = true;
            Response refusal =
                problem("request-timeout", "the request's head did not arrive in time");
            co_await respond(std::move(refusal), false);
            co_return Next::linger;
        }
    }
    co_return co_await answer(parser_->head());
}

asio::awaitable<Connection::Next> Connection::answer(const RequestHead& head) {
    const auto began = steady_clock::now();
    closing_ = !head.keep_alive || head.version == 10;
    continue_due_ = head.expects_continue && !parser_->done();
    head_only_ = head.method == "HEAD";

    Response response = co_await handle(head);
    Next next = Next::close;
    if (response.state == Response::State::complete) {
        // Only a body that is not there or short is read to its end; else the connection is given
        // up.
        if (!parser_->done() && (continue_due_ || !head.content_length ||
                                 *head.content_length > limits::drained_bytes)) {
            closing_ = true;
        }
        const bool without_body = head_only_;
        const auto written = co_await respond(std::move(response), without_body);
        if (written) next = co_await after_answer(head);
    } else if (response.state == Response::State::sent) {
        next = co_await after_answer(head);
    }
    const auto took =
        std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - began);
    spdlog::debug("request method={} target={} status={} us={}",
                  protocol::escape_foreign(head.method, 20), protocol::escape_foreign(head.target),
                  status_, took.count());
    co_return next;
}

// Reads what is left of a short body, so that the next request begins where it should.
asio::awaitable<Connection::Next> Connection::after_answer(const RequestHead& head) {
    if (!parser_->done() && !closing_) {
        std::size_t drained = 0;
        while (!parser_->done() && drained <= limits::drained_bytes) {
            auto piece = co_await read_body(limits::drained_bytes, shared_->options.header_timeout);
            if (!piece) co_return Next::linger;
            drained += piece->size();
        }
        if (!parser_->done()) co_return Next::linger;
    }
    if (!closing_ && head.keep_alive) co_return Next::request;
    co_return parser_->done() ? Next::close : Next::linger;
}

asio::awaitable<Response> Connection::handle(const RequestHead& head) {
    auto target = parse_target(head.target);
    Match match;
    if (target) match = shared_->router.find(head.method, *target);

    const bool open_route = match.route && match.route->key == Route::Key::open;
    auto principal = identify(head, open_route);
    if (!principal) {
        closing_ = true;  // whoever has no key shall not keep a connection either
        co_return problem(principal.error());
    }
    if (!target) co_return problem(target.error());
    if (!match.route && match.allowed.empty()) {
        co_return problem("not-found", "there is nothing at this path");
    }
    if (!match.route) {
        Response refusal = problem("method-not-allowed", "this path has " + match.allowed);
        refusal.fields.emplace_back("Allow", match.allowed);
        co_return refusal;
    }
    const Route& route = *match.route;
    for (const auto& [name, value] : target->query) {
        const auto same = [&](const Parameter& parameter) {
            return parameter.in == Parameter::In::query && parameter.name == name;
        };
        if (std::ranges::any_of(route.parameters, same)) continue;
        co_return problem(
            "unknown-member",
            "query parameter '" + protocol::escape_foreign(name, 60) + "' is not known here");
    }
    Exchange exchange(*shared_, *this, head, std::move(match), std::move(*target),
                      std::move(*principal));
    co_return co_await run_handler(exchange, route);
}

asio::awaitable<Response> Connection::run_handler(Exchange& exchange, const Route& route) {
    std::optional<Result<Response>> result;
    try {
        result.emplace(co_await route.handler(exchange));
    } catch (const std::exception& error) {
        spdlog::error("a request handler threw operation={} error={}", route.operation,
                      error.what());
        result.emplace(fail(Kind::internal, "the request could not be handled"));
    }
    if (*result) co_return std::move(**result);
    const Failure& failure = result->error();
    const auto& entry = problem_of(failure);
    if (entry.status >= 500) {
        // Whoever left in the middle is not there to miss the rest.
        const auto level = client_left_ ? spdlog::level::debug : spdlog::level::warn;
        spdlog::log(level, "request failed operation={} code={} error={}", route.operation,
                    entry.code, protocol::escape_foreign(failure.describe(), 500));
    }
    // With a part of the answer out, the only way to say that it is not whole is to cut it off.
    if (begun_) co_return Response::cut();
    co_return problem(failure);
}

Result<sandbox::Principal> Connection::identify(const RequestHead& head, bool open_route) {
    if (principal_) return *principal_;
    if (open_route) return sandbox::Principal();
    constexpr std::string_view scheme = "bearer ";
    const std::string* field = head.field("Authorization");
    if (!field || field->size() <= scheme.size()) {
        return fail(Kind::unauthenticated, "the Authorization field with a bearer key is missing");
    }
    for (std::size_t i = 0; i < scheme.size(); ++i) {
        const char c = (*field)[i];
        if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != scheme[i]) {
            return fail(Kind::unauthenticated, "the Authorization field is not a bearer key");
        }
    }
    return shared_->service.authenticate(field->substr(scheme.size()));
}

// ---- the body of the request
// ----------------------------------------------------------------------

sandbox::Async<std::string> Connection::read_body(std::size_t limit,
                                                  std::chrono::milliseconds patience) {
    if (continue_due_) {
        continue_due_ = false;
        const auto told = co_await write("HTTP/1.1 100 Continue\r\n\r\n");
        if (!told) co_return fail(told.error());
    }
    while (!parser_->done()) {
        auto piece = parser_->parse_body(input_.bytes(), limit);
        input_.consumed();
        if (!piece) {
            closing_ = true;
            co_return piece;
        }
        if (!piece->empty()) co_return piece;
        if (parser_->done()) break;
        const auto instant = patience == std::chrono::milliseconds::max()
                                 ? steady_clock::time_point::max()
                                 : steady_clock::now() + patience;
        const auto arrival = co_await input_.more(instant);
        if (arrival == Input::Arrival::bytes) continue;
        closing_ = true;
        if (arrival == Input::Arrival::late) {
            co_return fail(Failure::with_code(Kind::invalid_argument, "request-timeout",
                                              "the request's body did not arrive in time"));
        }
        co_return fail(Kind::invalid_argument, "the request's body was cut off");
    }
    co_return std::string();
}

// ---- the answer
// -------------------------------------------------------------------------------------

std::string Connection::framed(unsigned status, Fields fields) const {
    if (closing_) fields.emplace_back("Connection", "close");
    return write_head(status, fields);
}

sandbox::Async<void> Connection::respond(Response response, bool without_body) {
    // An answer without content has no length either (RFC 9110, section 8.6).
    if (response.status != 204) {
        response.fields.emplace_back("Content-Length", std::to_string(response.body.size()));
    }
    status_ = response.status;
    begun_ = true;
    std::string bytes = framed(response.status, std::move(response.fields));
    if (!without_body) bytes += response.body;
    co_return co_await write(std::move(bytes));
}

sandbox::Async<bool> Connection::begin(unsigned status, Fields fields,
                                       std::optional<std::uint64_t> length) {
    status_ = status;
    begun_ = true;
    if (length) {
        fields.emplace_back("Content-Length", std::to_string(*length));
    } else if (parser_->head().version == 11) {
        chunked_ = true;
        fields.emplace_back("Transfer-Encoding", "chunked");
    } else {
        closing_ = true;  // its end is the connection's
    }
    std::string bytes = framed(status, std::move(fields));
    const auto written = co_await write(std::move(bytes));
    if (!written) co_return fail(written.error());
    co_return !head_only_;
}

sandbox::Async<void> Connection::send(std::string bytes) {
    if (bytes.empty()) co_return Result<void>();
    if (!chunked_) co_return co_await write(std::move(bytes));
    std::string chunk = fmt::format("{:x}\r\n", bytes.size());
    chunk += bytes;
    chunk += "\r\n";
    co_return co_await write(std::move(chunk));
}

sandbox::Async<void> Connection::finish() {
    if (!chunked_) co_return Result<void>();
    co_return co_await write("0\r\n\r\n");
}

sandbox::Async<void> Connection::write(std::string bytes) {
    while (writing_) co_await written_.wait();
    writing_ = true;
    const std::weak_ptr<Connection> self = weak_from_this();
    stall_timer_.expires_after(stall_limit_);
    stall_timer_.async_wait([self](const boost::system::error_code& error) {
        if (error) return;
        if (const auto connection = self.lock()) connection->close();
    });
    auto written = co_await stream_->write(std::move(bytes));
    stall_timer_.cancel();
    writing_ = false;
    if (!written) client_left_ = true;
    written_.notify_all();
    co_return written;
}

// Closing with unread bytes would reset the connection under the answer: read on for a moment.
asio::awaitable<void> Connection::linger() {
    stream_->shutdown_write();
    const auto deadline = steady_clock::now() + limits::linger;
    Input::Arrival arrival = Input::Arrival::bytes;
    while (arrival == Input::Arrival::bytes) {
        input_.bytes().clear();
        input_.consumed();
        arrival = co_await input_.more(deadline);
    }
}

}  // namespace host::api
