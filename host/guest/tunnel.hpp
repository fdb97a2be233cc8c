#pragma once
// TunnelEnd: the daemon's end of a stream that the guest opened (the `mt` inside, or egress). Raw
// bytes: channel input towards the host, output towards the guest. Held bytes are bounded by the
// stream's credit, which is returned only as read() hands them out. A tunnel does not survive its
// connection.

#include "host/guest/connection.hpp"
#include "host/guest/wakeup.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace host::guest {

class TunnelEnd final : public StreamHandler,
                        public sandbox::TunnelStream,
                        public std::enable_shared_from_this<TunnelEnd> {
  public:
    TunnelEnd(boost::asio::any_io_executor executor, StreamPort port)
        : changed_(std::move(executor)), port_(std::move(port)) {}

    // What a consumer holds: dropping the last copy closes the tunnel.
    static std::shared_ptr<sandbox::TunnelStream> handle(const std::shared_ptr<TunnelEnd>& end);

    sandbox::Async<std::string> read() override;
    sandbox::Async<void> write(std::string bytes) override;
    void shutdown_write() override;
    void close() override;

    Result<void> on_data(protocol::Channel channel, std::string bytes, bool last) override;
    void on_writable(protocol::Channel channel) override;
    void on_reset() override;
    void on_disconnected() override;

  private:
    void push();
    void finish(std::string payload);
    void finish_if_over();

    Wakeup changed_;
    StreamPort port_;
    std::deque<std::string> received_;
    bool received_all_ = false;
    std::string outgoing_;
    std::size_t outgoing_sent_ = 0;
    bool shutdown_asked_ = false;
    bool shutdown_sent_ = false;
    std::optional<Failure> broken_;  // nothing more can be read or written
    bool finished_ = false;          // end was sent, or the connection is gone
};

}  // namespace host::guest
