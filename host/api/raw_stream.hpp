#pragma once
// RawStream: a connection's bytes after its HTTP part, in the form that Boost.Beast's WebSocket
// wants (an AsyncStream). Reads come from the connection's own read-ahead, so nothing that arrived
// with the request is lost and a client that goes away is noticed as everywhere else.

#include "host/api/connection.hpp"

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/role.hpp>

namespace host::api {

class RawStream {
  public:
    using executor_type = boost::asio::any_io_executor;
    using Done = std::function<void(boost::beast::error_code, std::size_t)>;

    RawStream(std::shared_ptr<Connection> connection, executor_type executor)
        : connection_(std::move(connection)), executor_(std::move(executor)) {}

    executor_type get_executor() const { return executor_; }
    void close() { connection_->close(); }

    template <typename Buffers, typename Token>
    auto async_read_some(const Buffers& buffers, Token&& token) {
        auto initiate = [this](auto handler, const Buffers& given) {
            read(first_of(given), shared(std::move(handler)));
        };
        return boost::asio::async_initiate<Token, void(boost::beast::error_code, std::size_t)>(
            std::move(initiate), token, buffers);
    }

    template <typename Buffers, typename Token>
    auto async_write_some(const Buffers& buffers, Token&& token) {
        auto initiate = [this](auto handler, const Buffers& given) {
            write(boost::beast::buffers_to_string(given), shared(std::move(handler)));
        };
        return boost::asio::async_initiate<Token, void(boost::beast::error_code, std::size_t)>(
            std::move(initiate), token, buffers);
    }

  private:
    template <typename Buffers>
    static boost::asio::mutable_buffer first_of(const Buffers& buffers) {
        for (auto at = boost::asio::buffer_sequence_begin(buffers);
             at != boost::asio::buffer_sequence_end(buffers); ++at) {
            if (boost::asio::mutable_buffer(*at).size() > 0) return *at;
        }
        return {};
    }
    // Beast's handlers are move-only; Done must be copyable.
    template <typename Handler>
    static Done shared(Handler handler) {
        auto held = std::make_shared<Handler>(std::move(handler));
        return [held](boost::beast::error_code error, std::size_t size) {
            std::move (*held)(error, size);
        };
    }
    void read(boost::asio::mutable_buffer target, Done done);
    void write(std::string bytes, Done done);

    std::shared_ptr<Connection> connection_;
    executor_type executor_;
};

// What Beast calls to end the stream below a WebSocket.
inline void beast_close_socket(RawStream& stream) {
    stream.close();
}
inline void teardown(boost::beast::role_type, RawStream& stream, boost::beast::error_code& error) {
    stream.close();
    error = {};
}
template <typename Handler>
void async_teardown(boost::beast::role_type, RawStream& stream, Handler&& handler) {
    stream.close();
    boost::asio::post(stream.get_executor(), [held = std::forward<Handler>(handler)]() mutable {
        std::move(held)(boost::beast::error_code());
    });
}

}  // namespace host::api
