#pragma once
// Machine: what the host asks of the guest as a whole. Implemented on system calls by
// boot/linux_machine.hpp, by a fake in tests, because every one of these would change the machine
// it runs on. Threading: the loop thread.

#include "protocol/base/result.hpp"
#include "protocol/wire/messages.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace guest_agent {

class Machine {
  public:
    virtual ~Machine() = default;
    virtual protocol::Result<void> set_hostname(const std::string& name) = 0;
    virtual protocol::Result<void> set_clock(std::int64_t unix_ns) = 0;
    // Names were checked by the caller.
    virtual protocol::Result<void> mount(const protocol::Mount& request) = 0;
    virtual protocol::Result<void> write_secret(const std::string& name,
                                                std::string_view bytes) = 0;
    // Ends every process but the agent where `kill_all`, then writes out and unmounts every VFS,
    // lazily those that stay busy. `done` is called from the loop.
    virtual void release_vfs(bool kill_all, std::function<void(protocol::Result<void>)> done) = 0;
    // Does not return in a machine.
    virtual void power_off() = 0;
};

}  // namespace guest_agent
