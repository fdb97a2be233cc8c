#include "host/egress/proxy/exchange.hpp"

#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace host::egress {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// One direction. An end of file is passed on; a failure ends both directions.
template <typename From, typename To>
asio::awaitable<void> pump(std::shared_ptr<Wires> wires, From& from, To& to) {
    std::vector<char> bytes(limits::buffer_bytes);
    for (;;) {
        const auto [read_error, size] =
            co_await from.async_read_some(asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
        if (read_error == asio::error::eof) {
            error_code ignored;
            to.shutdown(To::shutdown_send, ignored);
            co_return;
        }
        if (read_error) break;
        wires->watchdog->touch();
        const auto [write_error, written] = co_await asio::async_write(
            to, asio::buffer(bytes.data(), size), asio::as_tuple(asio::use_awaitable));
        static_cast<void>(written);
        if (write_error) break;
        wires->watchdog->touch();
    }
    wires->close();
}

}  // namespace

asio::awaitable<void> relay(std::shared_ptr<Wires> wires) {
    using namespace asio::experimental::awaitable_operators;
    wires->watchdog->allow(limits::tunnel_idle_time);
    // What the client sent together with CONNECT belongs to the server.
    const auto early = wires->client_buffer.data();
    const auto [error, size] =
        co_await asio::async_write(*wires->server, early, asio::as_tuple(asio::use_awaitable));
    wires->client_buffer.consume(size);
    if (error) co_return;
    auto up = pump(wires, wires->client, *wires->server);
    auto down = pump(wires, *wires->server, wires->client);
    auto both = std::move(up) && std::move(down);
    co_await std::move(both);
    wires->close();
}

}  // namespace host::egress
