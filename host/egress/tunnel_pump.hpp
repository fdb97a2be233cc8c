#pragma once
// pump_tunnel(): bytes between a guest's stream and the proxy's socket, both ways, with the
// back-pressure of both. Returns when both directions have ended.

#include "host/sandbox/guest.hpp"
#include "protocol/base/unique_fd.hpp"

#include <memory>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace host::egress {

boost::asio::awaitable<void> pump_tunnel(boost::asio::any_io_executor executor,
                                         protocol::UniqueFd socket,
                                         std::shared_ptr<sandbox::TunnelStream> stream);

}  // namespace host::egress
