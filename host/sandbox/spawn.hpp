#pragma once
// spawn: starts a coroutine (at once, inside the call, up to its first wait) whose owner keeps it
// alive through its arguments. The one catch-all for exceptions: reaching it is a bug of ours, and
// going on would leave a run without a supervisor, so the process ends and recovery takes over at
// the next start.

#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace host::sandbox {

void spawn(boost::asio::any_io_executor executor, std::string_view what,
           boost::asio::awaitable<void> task);

}  // namespace host::sandbox
