#pragma once
// Tells the service manager what the daemon is doing (sd_notify(3)), by hand: one datagram on the
// socket named by NOTIFY_SOCKET. Without that variable it does nothing.

#include <string_view>

namespace host::config {

// "READY=1", "STOPPING=1", "STATUS=..."; best effort.
void notify_manager(std::string_view state);

}  // namespace host::config
