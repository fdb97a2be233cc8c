#include "host/api/raw_stream.hpp"

#include <algorithm>
#include <cstring>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>

namespace host::api {

namespace asio = boost::asio;
using boost::beast::error_code;

namespace {

asio::awaitable<std::size_t> take(std::shared_ptr<Connection> connection,
                                  asio::mutable_buffer target) {
    Input& input = connection->input();
    while (input.bytes().empty() && target.size() > 0) {
        const auto arrival = co_await input.more(Wake::TimePoint::max());
        if (arrival != Input::Arrival::bytes) co_return 0;
    }
    const std::size_t size = std::min(target.size(), input.bytes().size());
    std::memcpy(target.data(), input.bytes().data(), size);
    input.bytes().erase(0, size);
    input.consumed();
    co_return size;
}

asio::awaitable<std::size_t> give(std::shared_ptr<Connection> connection, std::string bytes) {
    const std::size_t size = bytes.size();
    const auto written = co_await connection->write(std::move(bytes));
    co_return written ? size : 0;
}

}  // namespace

void RawStream::read(asio::mutable_buffer target, Done done) {
    const bool wanted = target.size() > 0;
    asio::co_spawn(
        executor_, take(connection_, target),
        [done = std::move(done), wanted](const std::exception_ptr& thrown, std::size_t size) {
            const bool end = thrown || (wanted && size == 0);
            done(end ? error_code(asio::error::eof) : error_code(), size);
        });
}

void RawStream::write(std::string bytes, Done done) {
    const bool wanted = !bytes.empty();
    asio::co_spawn(
        executor_, give(connection_, std::move(bytes)),
        [done = std::move(done), wanted](const std::exception_ptr& thrown, std::size_t size) {
            const bool lost = thrown || (wanted && size == 0);
            done(lost ? error_code(asio::error::broken_pipe) : error_code(), size);
        });
}

}  // namespace host::api
