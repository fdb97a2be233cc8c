#pragma once
// Connects the service's egress tunnels with the proxy process: finds the program and makes each
// run's policy from its definition, its image's package sources and the operator's.

#include "host/config/config.hpp"
#include "host/egress/egress_process.hpp"
#include "host/sandbox/disks.hpp"
#include "host/sandbox/parts.hpp"

#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

namespace host {

// As configured; otherwise beside the daemon, or where the package puts it. Need not exist.
std::string egress_program(const config::Config& config);

protocol::Result<std::shared_ptr<egress::EgressProcess>> start_egress(
    boost::asio::any_io_executor executor, const config::Config& config);

// `disks` outlives the handler.
protocol::Result<sandbox::TunnelHandler> egress_handler(
    std::shared_ptr<egress::EgressProcess> process, sandbox::Disks& disks,
    const config::Config& config);

}  // namespace host
