#pragma once
// Tasks: coroutines that belong to the server and are waited for when it stops. A task that throws
// is logged and ends alone.

#include "host/api/wake.hpp"

#include <memory>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace host::api {

class Tasks {
  public:
    explicit Tasks(boost::asio::any_io_executor loop);
    void spawn(boost::asio::awaitable<void> task);
    // False: some were still running at the instant.
    boost::asio::awaitable<bool> wait_all(Wake::TimePoint instant);

  private:
    struct State;
    boost::asio::any_io_executor loop_;
    std::shared_ptr<State> state_;
};

}  // namespace host::api
