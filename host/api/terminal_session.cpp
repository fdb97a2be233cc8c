#include "host/api/terminal_session.hpp"

#include "host/api/exchange.hpp"
#include "host/api/limits.hpp"
#include "host/api/raw_stream.hpp"

#include <csignal>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <boost/describe.hpp>
#include <boost/json/serialize.hpp>

namespace host::api {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using Chunk = sandbox::Follower::Chunk;

namespace {

struct ControlMessage {
    ControlMessage() = default;
    std::optional<protocol::TerminalSize> resize;
    std::optional<std::int32_t> signal;
};
BOOST_DESCRIBE_STRUCT(ControlMessage, (), (resize, signal))

http::request<http::empty_body> beast_request(const RequestHead& head) {
    http::request<http::empty_body> request(http::verb::get, head.target, head.version);
    for (const auto& [name, value] : head.fields) request.insert(name, value);
    return request;
}

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

}  // namespace

struct TerminalSession::Socket {
    Socket(std::shared_ptr<Connection> connection, const asio::any_io_executor& loop)
        : stream(RawStream(std::move(connection), loop)) {}
    websocket::stream<RawStream> stream;
};

TerminalSession::TerminalSession(std::shared_ptr<Connection> connection, asio::any_io_executor loop,
                                 sandbox::Service& service, sandbox::Principal principal,
                                 protocol::RunId run, protocol::CommandId command)
    : connection_(std::move(connection)),
      service_(service),
      principal_(std::move(principal)),
      run_(std::move(run)),
      command_(std::move(command)),
      socket_(std::make_unique<Socket>(connection_, loop)) {}

TerminalSession::~TerminalSession() = default;

asio::awaitable<void> TerminalSession::run(const RequestHead& head,
                                           std::shared_ptr<sandbox::Follower> follower,
                                           std::shared_ptr<sandbox::InputSink> input) {
    using namespace asio::experimental::awaitable_operators;
    follower_ = std::move(follower);
    input_ = std::move(input);
    auto& stream = socket_->stream;
    websocket::stream_base::timeout timeout;
    timeout.handshake_timeout = std::chrono::seconds(5);  // also for the closing one
    timeout.idle_timeout = std::chrono::seconds(60);
    timeout.keep_alive_pings = true;
    stream.set_option(timeout);
    stream.read_message_max(limits::terminal_message_bytes);

    const auto request = beast_request(head);
    const auto [error] = co_await stream.async_accept(request, as_result);
    if (!error) co_await (send_output() && take_input());
    follower_->close();
    connection_->close();
}

asio::awaitable<void> TerminalSession::send_output() {
    auto& stream = socket_->stream;
    while (true) {
        auto chunk = co_await follower_->read();
        const bool more = chunk && chunk->has_value();
        if (!more || (*chunk)->what == Chunk::What::exited) break;
        if ((*chunk)->what != Chunk::What::bytes) continue;
        stream.binary(true);
        const auto [error, size] =
            co_await stream.async_write(asio::buffer((*chunk)->bytes), as_result);
        if (error) co_return;  // take_input() sees the same end
    }
    if (left_) co_return;
    over_ = true;
    co_await send_result();
    const auto [error] = co_await stream.async_close(websocket::close_code::normal, as_result);
    if (error) connection_->close();
}

asio::awaitable<void> TerminalSession::send_result() {
    const auto record =
        co_await service_.wait_command(principal_, run_, command_, limits::final_record);
    boost::json::object result;
    if (record && record->exit_code) {
        result["exitCode"] = *record->exit_code;
    } else {
        result["exitCode"] = nullptr;
    }
    if (record) result["status"] = model::to_string(record->status);
    const std::string text = boost::json::serialize(result);
    auto& stream = socket_->stream;
    stream.text(true);
    [[maybe_unused]] const auto [error, size] =
        co_await stream.async_write(asio::buffer(text), as_result);
}

asio::awaitable<void> TerminalSession::take_input() {
    auto& stream = socket_->stream;
    beast::flat_buffer buffer;
    while (true) {
        const auto [error, size] = co_await stream.async_read(buffer, as_result);
        if (error) break;
        std::string message = beast::buffers_to_string(buffer.data());
        buffer.clear();
        if (stream.got_text()) {
            co_await obey(message);
            continue;
        }
        const auto written = co_await input_->write(std::move(message));
        if (!written) break;
    }
    if (!over_) co_await hang_up();
}

// Malformed and unknown orders are ignored: a terminal has no place for an error.
asio::awaitable<void> TerminalSession::obey(std::string_view text) {
    const auto order = decode<ControlMessage>(std::string(text));
    if (!order) co_return;
    if (order->resize && order->resize->rows > 0 && order->resize->columns > 0) {
        [[maybe_unused]] const auto resized =
            co_await service_.resize_command(principal_, run_, command_, *order->resize);
    }
    if (order->signal && *order->signal >= 1 && *order->signal <= 64) {
        [[maybe_unused]] const auto sent =
            co_await service_.kill_command(principal_, run_, command_, *order->signal);
    }
}

asio::awaitable<void> TerminalSession::hang_up() {
    left_ = true;
    follower_->close();
    [[maybe_unused]] const auto sent =
        co_await service_.kill_command(principal_, run_, command_, SIGHUP);
    connection_->close();
}

}  // namespace host::api
