#include "host/api/tasks.hpp"

#include <exception>
#include <list>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <spdlog/spdlog.h>

namespace host::api {

namespace asio = boost::asio;

namespace {

void report(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const boost::system::system_error& error) {
        if (error.code() == asio::error::operation_aborted) return;  // cancelled
        spdlog::error("a task of the API threw error={}", error.what());
    } catch (const std::exception& error) {
        spdlog::error("a task of the API threw error={}", error.what());
    }
}

}  // namespace

// Held by the completion handlers, so that it outlives the server.
struct Tasks::State {
    explicit State(const asio::any_io_executor& loop) : done(loop) {}
    std::list<asio::cancellation_signal> running;
    Wake done;
};

Tasks::Tasks(asio::any_io_executor loop) : loop_(loop), state_(std::make_shared<State>(loop)) {}

void Tasks::spawn(asio::awaitable<void> task) {
    const auto place = state_->running.emplace(state_->running.end());
    auto completed = [state = state_, place](const std::exception_ptr& thrown) {
        state->running.erase(place);
        state->done.notify_all();
        if (thrown) report(thrown);
    };
    asio::co_spawn(loop_, std::move(task),
                   asio::bind_cancellation_slot(place->slot(), std::move(completed)));
}

void Tasks::cancel_all() {
    // A task that ends at once takes its signal out of the list.
    for (auto at = state_->running.begin(); at != state_->running.end();) {
        auto& signal = *at++;
        signal.emit(asio::cancellation_type::terminal);
    }
}

asio::awaitable<bool> Tasks::wait_all(Wake::TimePoint instant) {
    const auto state = state_;
    while (!state->running.empty()) {
        if (!co_await state->done.wait_until(instant)) co_return false;
    }
    co_return true;
}

}  // namespace host::api
