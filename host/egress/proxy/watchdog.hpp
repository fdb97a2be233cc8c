#pragma once
// Watchdog: closes a connection's sockets when nothing has moved for too long. Reads and writes are
// never cancelled to be gone on with afterwards; a closed socket ends them.

#include <chrono>
#include <functional>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace host::egress {

class Watchdog : public std::enable_shared_from_this<Watchdog> {
  public:
    using Clock = std::chrono::steady_clock;

    Watchdog(boost::asio::any_io_executor executor, std::function<void()> bite)
        : timer_(std::move(executor)), bite_(std::move(bite)) {}

    // From now on it bites after `limit` without touch(). Starts it the first time.
    void allow(Clock::duration limit) {
        limit_ = limit;
        touch();
        arm(last_ + limit_);
    }
    void touch() { last_ = Clock::now(); }
    // Never bites after this.
    void stop() {
        bite_ = nullptr;
        timer_.cancel();
    }

  private:
    void arm(Clock::time_point at) {
        timer_.expires_at(at);
        timer_.async_wait([self = shared_from_this()](boost::system::error_code error) {
            if (error || !self->bite_) return;
            // Touching costs no timer operation; lateness is found out here.
            const auto due = self->last_ + self->limit_;
            if (Clock::now() < due) return self->arm(due);
            self->bite_();
        });
    }

    boost::asio::steady_timer timer_;
    std::function<void()> bite_;
    Clock::duration limit_{};
    Clock::time_point last_{};
};

}  // namespace host::egress
