#pragma once
// SocketStream: a connected socket as a Beast SyncStream with a limit on silence and an interrupt.
// A read that was interrupted or timed out has consumed nothing and may be repeated. One thread.

#include "protocol/base/unique_fd.hpp"
#include "sdk/cpp/endpoint.hpp"
#include "sdk/cpp/interrupt.hpp"

#include <chrono>
#include <span>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

namespace sdk {

class SocketStream {
  public:
    using error_code = boost::system::error_code;

    // Non-blocking from here on; `unavailable`, code "unreachable", when nobody answers.
    static Result<SocketStream> connect(const Endpoint& endpoint, const Interrupt* interrupt);

    // How long one read or write may wait for the peer; zero waits for ever.
    void set_silence_limit(std::chrono::milliseconds limit) { silence_limit_ = limit; }
    void set_interrupt(const Interrupt* interrupt) { interrupt_ = interrupt; }

    // True when the peer has closed an idle connection, or sent what nobody asked for.
    bool is_stale() const;
    [[nodiscard]] protocol::UniqueFd release() { return std::move(fd_); }

    template <typename Buffers>
    std::size_t read_some(const Buffers& buffers, error_code& error) {
        for (auto it = boost::asio::buffer_sequence_begin(buffers);
             it != boost::asio::buffer_sequence_end(buffers); ++it) {
            const boost::asio::mutable_buffer buffer(*it);
            if (buffer.size() > 0) return receive(buffer.data(), buffer.size(), error);
        }
        error = {};
        return 0;
    }
    template <typename Buffers>
    std::size_t write_some(const Buffers& buffers, error_code& error) {
        for (auto it = boost::asio::buffer_sequence_begin(buffers);
             it != boost::asio::buffer_sequence_end(buffers); ++it) {
            const boost::asio::const_buffer buffer(*it);
            if (buffer.size() > 0) return send(buffer.data(), buffer.size(), error);
        }
        error = {};
        return 0;
    }
    // Required by the concept; the library uses the overloads above.
    template <typename Buffers>
    std::size_t read_some(const Buffers& buffers) {
        error_code error;
        const std::size_t count = read_some(buffers, error);
        if (error) throw boost::system::system_error(error);
        return count;
    }
    template <typename Buffers>
    std::size_t write_some(const Buffers& buffers) {
        error_code error;
        const std::size_t count = write_some(buffers, error);
        if (error) throw boost::system::system_error(error);
        return count;
    }

  private:
    explicit SocketStream(protocol::UniqueFd fd) : fd_(std::move(fd)) {}

    std::size_t receive(void* data, std::size_t size, error_code& error);
    std::size_t send(const void* data, std::size_t size, error_code& error);
    bool wait_for(short events, error_code& error) const;

    protocol::UniqueFd fd_;
    const Interrupt* interrupt_ = nullptr;
    std::chrono::milliseconds silence_limit_{0};
};

}  // namespace sdk
