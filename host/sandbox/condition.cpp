#include "host/sandbox/condition.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace host::sandbox {

namespace asio = boost::asio;

Condition::Condition(asio::any_io_executor executor)
    : executor_(std::move(executor)), waiters_(std::make_shared<std::list<Waiter>>()) {}

void Condition::wake_all() {
    // A timer that never expires is a waiter; cancelling is waking.
    for (const Waiter& waiter : *waiters_) waiter->cancel();
    waiters_->clear();
}

asio::awaitable<void> Condition::wait() {
    const auto waiters = waiters_;
    const auto timer =
        std::make_shared<asio::steady_timer>(executor_, asio::steady_timer::time_point::max());
    waiters->push_back(timer);
    co_await timer->async_wait(asio::as_tuple(asio::use_awaitable));
    waiters->remove(timer);
}

asio::awaitable<void> Condition::wait_until(Clock& clock, std::int64_t boottime_ms) {
    const auto waiters = waiters_;
    const auto timer =
        std::make_shared<asio::steady_timer>(executor_, asio::steady_timer::time_point::max());
    waiters->push_back(timer);
    std::function<void()> ring = [timer] { timer->cancel(); };
    const auto alarm = clock.alarm_at(boottime_ms, std::move(ring));
    co_await timer->async_wait(asio::as_tuple(asio::use_awaitable));
    waiters->remove(timer);
}

}  // namespace host::sandbox
