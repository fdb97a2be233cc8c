#pragma once
// Tunnel: one connection made inside the guest (to the proxy's port, or by `mt` to its socket),
// carried to the host as a stream: bytes both ways, back-pressure both ways, half-close both ways.
// Threading: the loop thread. Lifetime: owned by Streams.

#include "guest-agent/service/streams.hpp"
#include "protocol/base/unique_fd.hpp"

#include <functional>
#include <string>

#include <boost/asio/posix/stream_descriptor.hpp>

namespace guest_agent {

class Tunnel final : public StreamHandler {
  public:
    // `on_gone` is called once, when another connection may take this one's place.
    Tunnel(Streams& streams, protocol::StreamId id, boost::asio::any_io_executor executor,
           protocol::UniqueFd socket, std::function<void()> on_gone);
    ~Tunnel() override;
    void start() override;
    void on_data(protocol::Channel channel, std::string_view bytes, bool last) override;
    void on_writable(protocol::Channel channel) override;
    void on_end() override;

  private:
    void wait_readable();
    void read_some();
    void write_some();
    void wait_writable();
    void close();

    boost::asio::posix::stream_descriptor socket_;
    std::function<void()> on_gone_;
    std::string unsent_;      // read from the socket, no credit yet
    std::string unwritten_;   // from the host
    bool reading_ = true;     // the socket has not reached its end
    bool host_done_ = false;  // half-closed by the host
    bool ended_ = false;      // finished by the host: close once written
    bool waiting_readable_ = false;
    bool waiting_writable_ = false;
};

}  // namespace guest_agent
