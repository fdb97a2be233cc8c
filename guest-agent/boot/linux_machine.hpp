#pragma once
// Machine on Linux system calls, for process 1 of a capsule.
// Threading: the loop thread. What may hang when a VFS's server is gone runs in a child process.

#include "guest-agent/process/reaper.hpp"
#include "guest-agent/service/machine.hpp"

#include <boost/asio/any_io_executor.hpp>

namespace guest_agent {

class LinuxMachine final : public Machine {
  public:
    LinuxMachine(boost::asio::any_io_executor executor, Reaper& reaper)
        : executor_(std::move(executor)), reaper_(reaper) {}

    protocol::Result<void> set_hostname(const std::string& name) override;
    protocol::Result<void> set_clock(std::int64_t unix_ns) override;
    protocol::Result<void> mount(const protocol::Mount& request) override;
    protocol::Result<void> write_secret(const std::string& name, std::string_view bytes) override;
    void release_vfs(bool kill_all, std::function<void(protocol::Result<void>)> done) override;
    void power_off() override;

  private:
    boost::asio::any_io_executor executor_;
    Reaper& reaper_;
};

}  // namespace guest_agent
