#include "host/api/wake.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace host::api {

namespace asio = boost::asio;

Wake::Wake(asio::any_io_executor executor)
    : executor_(std::move(executor)), waiters_(std::make_shared<std::list<Waiter>>()) {}

void Wake::notify_all() {
    for (const Waiter& waiter : *waiters_) waiter->cancel();
    waiters_->clear();
}

asio::awaitable<bool> Wake::wait_until(TimePoint instant) {
    const auto waiters = waiters_;
    const auto timer = std::make_shared<asio::steady_timer>(executor_, instant);
    waiters->push_back(timer);
    const auto [error] = co_await timer->async_wait(asio::as_tuple(asio::use_awaitable));
    waiters->remove(timer);
    co_return static_cast<bool>(error);
}

asio::awaitable<void> Wake::wait() {
    co_await wait_until(TimePoint::max());
}

}  // namespace host::api
