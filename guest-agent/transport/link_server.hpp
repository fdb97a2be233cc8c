#pragma once
// LinkServer: keeps the host link served over the machine's transport for as long as the agent
// lives. vsock: a newer connection takes over from an older one, since the host may have been
// restarted without the guest noticing. Serial: one port, whose sessions follow each other;
// reopened when the link fails. Threading: the loop thread.

#include "guest-agent/service/service.hpp"
#include "protocol/channel/link.hpp"

#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace guest_agent {

class LinkServer final : private protocol::LinkObserver {
  public:
    // `hello`: JSON text sent on each connection.
    LinkServer(boost::asio::any_io_executor executor, Service& service, std::string hello);

    // Failures: what listening or opening says; the caller may try the other transport.
    protocol::Result<void> serve_vsock();
    protocol::Result<void> serve_serial();
    // One connection that is there already (tests).
    void serve_connected(protocol::UniqueFd fd, protocol::EndOfFile end_of_file);

  private:
    void on_event(protocol::SessionEvent event) override;
    void on_closed(const protocol::Failure& why) override;
    void wait_for_connection();
    void accept_all();
    void reopen_serial_later();

    boost::asio::any_io_executor executor_;
    Service& service_;
    std::string hello_;
    boost::asio::posix::stream_descriptor listener_;
    boost::asio::steady_timer retry_;
    std::shared_ptr<protocol::Link> link_;
    bool serial_ = false;
};

}  // namespace guest_agent
