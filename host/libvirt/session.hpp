#pragma once
// One open connection to libvirtd with its event callbacks. Lives until libvirtd goes away or the
// owner lets go; the connection class replaces it by a new one then.

#include "host/libvirt/event_loop.hpp"
#include "host/libvirt/handle.hpp"
#include "protocol/base/result.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace host::libvirt {

// What libvirt told, reduced to what a capsule cares about.
enum class DomainNews : std::uint8_t {
    panicked,     // the guest's kernel
    paused,       // by an administrator
    resumed,      // it was paused, for a moment before its first instruction or by an administrator
    shut_down,    // by the guest: power-off or reset
    crashed,      // the machine, after a panic
    destroyed,    // by us, or by an administrator
    failed,       // QEMU died
    disk_full,    // the machine is paused: the host has no room for its writes
    disk_failed,  // the machine is paused: the host could not write
    control_lost,  // libvirt cannot talk to QEMU any more
};

struct SessionCallbacks {
    SessionCallbacks() = default;
    // On the event loop's thread; must only copy and post.
    std::function<void(std::string domain_name, DomainNews news)> news;
    std::function<void()> closed;
};

class Session {
  public:
    static protocol::Result<std::shared_ptr<Session>> open(const std::string& uri,
                                                           SessionCallbacks callbacks);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    virConnect* get() const { return connect_.get(); }

  private:
    explicit Session(std::shared_ptr<EventLoop> loop) : loop_(std::move(loop)) {}
    protocol::Result<void> watch(SessionCallbacks callbacks);

    std::shared_ptr<EventLoop> loop_;  // outlives the connection
    std::shared_ptr<const SessionCallbacks> callbacks_;
    ConnectHandle connect_;
    std::vector<int> event_ids_;
    bool close_watched_ = false;
};

}  // namespace host::libvirt
