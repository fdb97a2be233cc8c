#pragma once
// The one place that waits for processes: every child of the agent, and in a machine every orphan,
// since the agent is process 1 there. Nobody else may call wait: a reaped pid can be reused at
// once. Threading: the loop thread. Callbacks come from the loop, one after another.

#include <functional>
#include <map>
#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/signal_set.hpp>

namespace guest_agent {

class Reaper {
  public:
    // `signaled` false: value is the exit status; true: the signal's number.
    using Callback = std::function<void(bool signaled, int value)>;

    explicit Reaper(boost::asio::any_io_executor executor);
    void start();
    // Call right after the child was made, before returning to the loop.
    void watch(pid_t pid, Callback callback);
    void forget(pid_t pid) { watched_.erase(pid); }

  private:
    void wait_for_signal();
    void reap();

    boost::asio::signal_set signals_;
    std::map<pid_t, Callback> watched_;
};

}  // namespace guest_agent
