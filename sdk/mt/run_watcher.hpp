#pragma once
// RunWatcher: prints the phases of a run on standard error while somebody else waits for it.
// Listens to the daemon's events in a thread of its own; when they cannot be had, the phases are
// not shown and nothing else changes.

#include "sdk/cpp/client.hpp"
#include "sdk/cpp/event_stream.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace mt {

class RunWatcher {
  public:
    // Opens the stream of events, so that nothing after this is missed.
    RunWatcher(const sdk::Settings& settings, std::function<void(const std::string&)> print);
    ~RunWatcher();
    RunWatcher(const RunWatcher&) = delete;
    RunWatcher& operator=(const RunWatcher&) = delete;

    void watch(const std::string& run);

  private:
    void listen(const std::string& run);
    void show(const sdk::Run& run);

    sdk::Interrupt stop_;
    sdk::Settings settings_;
    sdk::EventStream events_;
    bool open_ = false;
    std::function<void(const std::string&)> print_;
    std::chrono::steady_clock::time_point began_;
    std::string shown_;
    std::thread thread_;
};

}  // namespace mt
