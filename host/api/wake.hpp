#pragma once
// Wake: coroutines of the loop thread wait here until told that something has changed. Whoever is
// woken looks again at what it waits for; between looking and waiting there is no suspension, so
// nothing is missed.

#include <chrono>
#include <list>
#include <memory>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

namespace host::api {

class Wake {
  public:
    using TimePoint = std::chrono::steady_clock::time_point;
    explicit Wake(boost::asio::any_io_executor executor);
    void notify_all();
    // False: the instant came first.
    boost::asio::awaitable<bool> wait_until(TimePoint instant);
    boost::asio::awaitable<void> wait();

  private:
    using Waiter = std::shared_ptr<boost::asio::steady_timer>;
    boost::asio::any_io_executor executor_;
    // Shared with the waiters, which may outlive the object they wait for.
    std::shared_ptr<std::list<Waiter>> waiters_;
};

}  // namespace host::api
