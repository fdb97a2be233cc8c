#pragma once
// MemoryPressure: notices that the commands together hardly get on for want of memory. The kernel's
// OOM killer acts only when nothing can be reclaimed; until then a full group reads its programs'
// own pages again and again, for minutes. Source: kernel documentation, accounting/psi. Threading:
// the loop thread.

#include "protocol/base/result.hpp"

#include <functional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace guest_agent {

class MemoryPressure {
  public:
    // `stalled` is called at most once per window of measurement, some seconds.
    MemoryPressure(boost::asio::any_io_executor executor, std::function<void()> stalled);
    // `file`: a cgroup's memory.pressure. io when the kernel does not measure pressure.
    protocol::Result<void> watch(const std::string& file);

  private:
    bool gone();
    void wait();

    boost::asio::posix::stream_descriptor trigger_;
    std::function<void()> stalled_;
};

}  // namespace guest_agent
