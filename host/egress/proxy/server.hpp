#pragma once
// ProxyServer: receives the guests' connections from the daemon, keeps the quotas of runs, and
// serves each connection. Ends when the daemon's end of the control socket is closed.
//
// Threading: one thread runs the executor.

#include "host/egress/handover.hpp"
#include "host/egress/proxy/session.hpp"

#include <map>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace host::egress {

class ProxyServer {
  public:
    ProxyServer(boost::asio::any_io_executor executor, protocol::UniqueFd control,
                AddressRules rules);

    // Returns when the daemon is gone.
    boost::asio::awaitable<void> run();

  private:
    void take(Received received);
    boost::asio::awaitable<void> serve(std::string run, Policy policy, Wires::Client socket);
    boost::asio::awaitable<void> refuse(std::string run, Wires::Client socket);
    void leave(const std::string& run);

    boost::asio::any_io_executor executor_;
    boost::asio::posix::stream_descriptor control_;
    ProxyParts parts_;
    std::map<std::string, std::size_t> connections_;  // by run
    std::size_t total_ = 0;
};

}  // namespace host::egress
