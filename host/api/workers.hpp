#pragma once
// on_workers: runs a blocking call on the worker pool and comes back to the coroutine's own
// executor. Never cancelled: what has been begun on a disk is finished.

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace host::api {

// `work` takes nothing and returns a value. Name it before: no lambda in a co_await expression.
template <typename Work>
boost::asio::awaitable<std::invoke_result_t<Work>> on_workers(boost::asio::thread_pool& workers,
                                                              Work work) {
    namespace asio = boost::asio;
    using Value = std::invoke_result_t<Work>;
    auto initiate = [](auto handler, asio::thread_pool* pool, Work job) {
        auto home = asio::make_work_guard(asio::get_associated_executor(handler));
        asio::post(*pool, [handler = std::move(handler), home = std::move(home),
                           job = std::move(job)]() mutable {
            std::exception_ptr thrown;
            std::optional<Value> value;
            try {
                value.emplace(job());
            } catch (...) {
                thrown = std::current_exception();
            }
            auto executor = home.get_executor();
            asio::post(executor,
                       [handler = std::move(handler), thrown, value = std::move(value)]() mutable {
                           std::move(handler)(thrown, std::move(value));
                       });
        });
    };
    auto waiting = asio::async_initiate<const asio::use_awaitable_t<>,
                                        void(std::exception_ptr, std::optional<Value>)>(
        std::move(initiate), asio::use_awaitable, &workers, std::move(work));
    std::optional<Value> value = co_await std::move(waiting);
    co_return std::move(*value);
}

}  // namespace host::api
