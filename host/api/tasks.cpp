#include "host/api/tasks.hpp"

#include <exception>

#include <boost/asio/co_spawn.hpp>
#include <spdlog/spdlog.h>

namespace host::api {

namespace asio = boost::asio;

namespace {

void report(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        spdlog::error("a task of the API threw error={}", error.what());
    }
}

}  // namespace

// Held by the completion handlers, so that it outlives the server.
struct Tasks::State {
    explicit State(const asio::any_io_executor& loop) : done(loop) {}
    std::size_t running = 0;
    Wake done;
};

Tasks::Tasks(asio::any_io_executor loop) : loop_(loop), state_(std::make_shared<State>(loop)) {}

void Tasks::spawn(asio::awaitable<void> task) {
    ++state_->running;
    auto completed = [state = state_](const std::exception_ptr& thrown) {
        --state->running;
        state->done.notify_all();
        if (thrown) report(thrown);
    };
    asio::co_spawn(loop_, std::move(task), std::move(completed));
}

asio::awaitable<bool> Tasks::wait_all(Wake::TimePoint instant) {
    const auto state = state_;
    while (state->running > 0) {
        if (!co_await state->done.wait_until(instant)) co_return false;
    }
    co_return true;
}

}  // namespace host::api
