#pragma once
// Wakeup: lets coroutines of one thread wait for "something has changed". notify() wakes all that
// wait now; a waiter checks its condition in a loop. Nothing can be missed between the check and
// the wait, because both run on the executor's thread without a suspension in between. Several may
// wait at once if none gives a deadline; with one, a single waiter.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace host::guest {

class Wakeup {
  public:
    using TimePoint = std::chrono::steady_clock::time_point;

    explicit Wakeup(boost::asio::any_io_executor executor)
        : timer_(std::move(executor), TimePoint::max()) {}

    void notify() { timer_.cancel(); }

    // Returns after notify(), at `deadline`, or spuriously. False: the waiting coroutine itself was
    // cancelled and must finish without waiting again.
    boost::asio::awaitable<bool> wait(TimePoint deadline = TimePoint::max()) {
        if (timer_.expiry() != deadline) timer_.expires_at(deadline);
        co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
        const auto state = co_await boost::asio::this_coro::cancellation_state;
        co_return state.cancelled() == boost::asio::cancellation_type::none;
    }

  private:
    boost::asio::steady_timer timer_;
};

}  // namespace host::guest
