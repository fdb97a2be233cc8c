#include "host/libvirt/event_loop.hpp"

#include <mutex>

#include <libvirt/libvirt.h>

namespace host::libvirt {

std::shared_ptr<EventLoop> EventLoop::acquire() {
    static std::mutex mutex;
    static std::weak_ptr<EventLoop> current;
    const std::lock_guard lock(mutex);
    if (auto loop = current.lock()) return loop;
    static const int registered = virEventRegisterDefaultImpl();
    static_cast<void>(registered);  // fails only without memory; opening a connection then says so
    std::shared_ptr<EventLoop> loop(new EventLoop);
    current = loop;
    return loop;
}

EventLoop::EventLoop() {
    thread_ = std::thread([this] {
        while (!stopping_) virEventRunDefaultImpl();
    });
}

EventLoop::~EventLoop() {
    stopping_ = true;
    // The loop sleeps until something happens: make something happen, again and again until it has
    // seen it (a timer may fire between its look at the flag and its sleep).
    const int timer = virEventAddTimeout(
        10, [](int, void*) {}, nullptr, nullptr);
    thread_.join();
    if (timer >= 0) virEventRemoveTimeout(timer);
}

}  // namespace host::libvirt
