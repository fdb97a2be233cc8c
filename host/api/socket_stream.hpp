#pragma once
// SocketStream: a connected socket, Unix or TCP, as the byte stream that connections are served
// over (the same interface as a tunnel from inside a run).

#include "host/sandbox/guest.hpp"
#include "protocol/base/unique_fd.hpp"

#include <array>
#include <memory>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

namespace host::api {

class SocketStream final : public sandbox::TunnelStream {
  public:
    // `family`: AF_UNIX, AF_INET or AF_INET6. The descriptor is close-on-exec already.
    static protocol::Result<std::shared_ptr<SocketStream>> adopt(
        const boost::asio::any_io_executor& executor, protocol::UniqueFd fd, int family);
    explicit SocketStream(boost::asio::generic::stream_protocol::socket socket);

    sandbox::Async<std::string> read() override;
    sandbox::Async<void> write(std::string bytes) override;
    void shutdown_write() override;
    void close() override;

  private:
    boost::asio::generic::stream_protocol::socket socket_;
    std::array<char, 64u << 10> scratch_;
};

}  // namespace host::api
