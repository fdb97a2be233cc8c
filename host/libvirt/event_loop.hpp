#pragma once
// The thread that runs libvirt's event loop. The loop itself is one per process (libvirt's doing),
// so every connection shares this thread; it ends with the last one that holds it.

#include <atomic>
#include <memory>
#include <thread>

namespace host::libvirt {

class EventLoop {
  public:
    // Must be called before the first connection is opened. Thread-safe.
    static std::shared_ptr<EventLoop> acquire();
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

  private:
    EventLoop();
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace host::libvirt
