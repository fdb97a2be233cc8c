#pragma once
// Workers: where blocking calls (libvirt, disks) run, so that the loop thread never waits for them.
// They answer by value, on the loop thread.

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace host::sandbox {

class Workers {
  public:
    virtual ~Workers() = default;
    // `work` must not throw.
    virtual void post(std::function<void()> work) = 0;
};

// Over a pool that outlives it.
std::unique_ptr<Workers> make_workers(boost::asio::thread_pool& pool);

// Runs `work` on a worker and returns what it returned. Everything it needs goes in by value.
template <typename Work>
boost::asio::awaitable<std::invoke_result_t<Work>> on_workers(Workers& workers, Work work) {
    namespace asio = boost::asio;
    using Answer = std::invoke_result_t<Work>;
    auto executor = co_await asio::this_coro::executor;
    auto answer = std::make_shared<std::optional<Answer>>();
    // Named, then moved: g++ 12.2 destroys a capturing lambda twice inside the expression.
    auto initiate = [&workers, executor, answer, work = std::move(work)](auto handler) mutable {
        auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        auto guard = asio::make_work_guard(executor);
        workers.post(
            [executor, answer, shared, guard = std::move(guard), work = std::move(work)]() mutable {
                answer->emplace(work());
                asio::post(executor, [shared = std::move(shared)] { std::move (*shared)(); });
            });
    };
    co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(std::move(initiate),
                                                                         asio::use_awaitable);
    co_return std::move(**answer);
}

}  // namespace host::sandbox
