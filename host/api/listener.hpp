#pragma once
// Listener: a listening socket, Unix or TCP, and the loop that accepts on it. Descriptors are made
// close-on-exec at birth, which Asio's own acceptor does not do.

#include "host/sandbox/guest.hpp"
#include "protocol/base/unique_fd.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace host::api {

class Listener {
  public:
    using Accepted = std::function<void(std::shared_ptr<sandbox::TunnelStream>)>;

    // Mode 0660, group `group` or, where there is none, root. A socket file that nobody answers on
    // is replaced; conflict when somebody does, or when the path is something else than a socket.
    static protocol::Result<std::unique_ptr<Listener>> unix_socket(
        const boost::asio::any_io_executor& loop, const std::string& path,
        const std::string& group);
    // "127.0.0.1:7070" or "[::1]:7070": numeric addresses only.
    static protocol::Result<std::unique_ptr<Listener>> tcp(const boost::asio::any_io_executor& loop,
                                                           const std::string& address);
    ~Listener();

    // Until close(). The object must outlive it.
    boost::asio::awaitable<void> accept_loop(Accepted accepted);
    void close();
    std::uint16_t port() const { return port_; }

  private:
    Listener(const boost::asio::any_io_executor& loop, protocol::UniqueFd fd, int family);
    // False: not now (too many descriptors): wait a moment.
    bool accept_all(const Accepted& accepted);

    boost::asio::any_io_executor loop_;
    boost::asio::posix::stream_descriptor descriptor_;
    int family_;
    std::uint16_t port_ = 0;
    bool closed_ = false;
    std::string path_;  // of a Unix socket: removed on close when it is still ours
    std::uint64_t inode_ = 0;
};

}  // namespace host::api
