#pragma once
// TunnelListener: accepts connections inside the guest and makes each a Tunnel. Beyond its limit,
// and while no host is connected, connections wait in the backlog. Threading: the loop thread.

#include "guest-agent/service/streams.hpp"
#include "protocol/base/result.hpp"
#include "protocol/base/unique_fd.hpp"

#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/posix/stream_descriptor.hpp>

namespace guest_agent {

class TunnelListener {
  public:
    // `operation`: what the stream is opened as ("api", "egress").
    TunnelListener(boost::asio::any_io_executor executor, Streams& streams, std::string operation,
                   std::uint32_t limit);

    // Replaces what was listened to before. The descriptor listens and is non-blocking.
    void listen(protocol::UniqueFd listener);
    void close();
    bool listening() const { return listener_.is_open(); }
    // A host is connected (again).
    void resume() { wait(); }

  private:
    void wait();
    void accept_some();
    bool serve(protocol::UniqueFd socket);

    boost::asio::any_io_executor executor_;
    Streams& streams_;
    std::string operation_;
    std::uint32_t limit_;
    boost::asio::posix::stream_descriptor listener_;
    // Shared with the tunnels, which may outlive a turn of the loop but not the counter.
    std::shared_ptr<std::uint32_t> open_ = std::make_shared<std::uint32_t>(0);
    bool waiting_ = false;
};

// 127.0.0.1:port.
protocol::Result<protocol::UniqueFd> listen_local_tcp(std::uint16_t port);
// A Unix socket of mode 0600 that belongs to `owner`; whatever had that path is replaced.
protocol::Result<protocol::UniqueFd> listen_unix(const std::string& path, uid_t owner);

}  // namespace guest_agent
