#pragma once
// Condition: coroutines of the loop thread wait here until something has changed, or for a limit.
// Woken waiters look again at what they are waiting for. Nothing is missed between looking and
// waiting, since both happen on the loop thread without a suspension in between.

#include "host/sandbox/clock.hpp"

#include <chrono>
#include <list>
#include <memory>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

namespace host::sandbox {

class Condition {
  public:
    explicit Condition(boost::asio::any_io_executor executor);
    void wake_all();
    boost::asio::awaitable<void> wait();
    // Returns when woken, or at the instant of CLOCK_BOOTTIME.
    boost::asio::awaitable<void> wait_until(Clock& clock, std::int64_t boottime_ms);
    std::size_t waiting() const { return waiters_->size(); }

  private:
    using Waiter = std::shared_ptr<boost::asio::steady_timer>;
    boost::asio::any_io_executor executor_;
    // Shared with the waiters, which may outlive the object whose condition it is.
    std::shared_ptr<std::list<Waiter>> waiters_;
};

}  // namespace host::sandbox
