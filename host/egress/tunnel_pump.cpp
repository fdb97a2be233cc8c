#include "host/egress/tunnel_pump.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace host::egress {

namespace asio = boost::asio;
using Socket = asio::local::stream_protocol::socket;
using boost::system::error_code;

namespace {

constexpr std::size_t piece_bytes = 64u << 10;

struct Ends {
    Ends(Socket proxy, std::shared_ptr<sandbox::TunnelStream> guest)
        : socket(std::move(proxy)), stream(std::move(guest)) {}
    // Ends the other direction as well.
    void close() {
        error_code ignored;
        socket.close(ignored);
        stream->close();
    }
    Socket socket;
    std::shared_ptr<sandbox::TunnelStream> stream;
};

asio::awaitable<void> to_proxy(std::shared_ptr<Ends> ends) {
    for (;;) {
        auto reading = ends->stream->read();
        const auto bytes = co_await std::move(reading);
        if (!bytes) break;
        if (bytes->empty()) {
            error_code ignored;
            ends->socket.shutdown(Socket::shutdown_send, ignored);
            co_return;
        }
        const auto [error, size] = co_await asio::async_write(ends->socket, asio::buffer(*bytes),
                                                              asio::as_tuple(asio::use_awaitable));
        static_cast<void>(size);
        // The proxy has closed; what it said before that is still on its way to the guest.
        if (error) co_return;
    }
    ends->close();
}

asio::awaitable<void> to_guest(std::shared_ptr<Ends> ends) {
    std::string piece(piece_bytes, '\0');
    for (;;) {
        const auto [error, size] = co_await ends->socket.async_read_some(
            asio::buffer(piece), asio::as_tuple(asio::use_awaitable));
        if (error == asio::error::eof) break;
        if (error) co_return ends->close();
        auto writing = ends->stream->write(piece.substr(0, size));
        const auto written = co_await std::move(writing);
        if (!written) co_return ends->close();
    }
    ends->stream->shutdown_write();
    // A half-close leaves the other direction open; a closed socket shows as a hang-up, and then
    // nobody will read what the guest still sends.
    co_await ends->socket.async_wait(Socket::wait_error, asio::as_tuple(asio::use_awaitable));
    ends->close();
}

}  // namespace

asio::awaitable<void> pump_tunnel(asio::any_io_executor executor, protocol::UniqueFd fd,
                                  std::shared_ptr<sandbox::TunnelStream> stream) {
    using namespace asio::experimental::awaitable_operators;
    error_code error;
    Socket socket(executor);
    socket.assign(asio::local::stream_protocol(), fd.get(), error);
    if (error) co_return;
    static_cast<void>(fd.release());  // the socket closes it now
    const auto ends = std::make_shared<Ends>(std::move(socket), std::move(stream));
    auto both = to_proxy(ends) && to_guest(ends);
    co_await std::move(both);
    ends->close();
}

}  // namespace host::egress
