#include "host/api/socket_stream.hpp"

#include <limits>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace host::api {

namespace asio = boost::asio;
using protocol::fail;
using protocol::Failure;
using protocol::Kind;

namespace {

Failure lost(const boost::system::error_code& error) {
    return Failure(Kind::unavailable, "the connection is gone: " + error.message());
}

// A completion condition: how much the next call may write. asio::transfer_all() says 64 KiB, which
// would cut each chunk of a followed output in two.
std::size_t all_at_once(const boost::system::error_code& error, std::size_t) {
    return error ? 0 : std::numeric_limits<std::size_t>::max();
}

}  // namespace

protocol::Result<std::shared_ptr<SocketStream>> SocketStream::adopt(
    const asio::any_io_executor& executor, protocol::UniqueFd fd, int family) {
    asio::generic::stream_protocol::socket socket(executor);
    boost::system::error_code error;
    socket.assign(asio::generic::stream_protocol(family, 0), fd.get(), error);
    if (error) return fail(lost(error));
    (void)fd.release();  // the socket closes it from here on
    return std::make_shared<SocketStream>(std::move(socket));
}

SocketStream::SocketStream(asio::generic::stream_protocol::socket socket)
    : socket_(std::move(socket)) {}

sandbox::Async<std::string> SocketStream::read() {
    const auto [error, size] = co_await socket_.async_read_some(
        asio::buffer(scratch_), asio::as_tuple(asio::use_awaitable));
    if (error == asio::error::eof) co_return std::string();
    if (error) co_return fail(lost(error));
    co_return std::string(scratch_.data(), size);
}

sandbox::Async<void> SocketStream::write(std::string bytes) {
    const auto [error, size] = co_await asio::async_write(socket_, asio::buffer(bytes), all_at_once,
                                                          asio::as_tuple(asio::use_awaitable));
    if (error) co_return fail(lost(error));
    co_return protocol::Result<void>();
}

// Errors below mean that the peer is gone already.
void SocketStream::shutdown_write() {
    boost::system::error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_send, ignored);
}

void SocketStream::close() {
    boost::system::error_code ignored;
    socket_.close(ignored);
}

}  // namespace host::api
