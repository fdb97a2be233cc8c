#pragma once
// Daemon: the composition root. Makes every part, connects them, serves until SIGTERM or SIGINT,
// and goes away again leaving runs alive. Reading daemon.cpp shows the whole program.

#include "host/config/config.hpp"
#include "protocol/base/result.hpp"

namespace host {

// Returns after a clean end; a failure says why the daemon cannot serve.
protocol::Result<void> serve(const config::Config& config);

}  // namespace host
