#pragma once
// Clock: time as the service needs it. What decides is CLOCK_BOOTTIME, which goes on while the host
// is suspended and does not jump with the wall clock; Unix time is for display only. Alarms ring on
// the loop thread. Tests use a manual clock.

#include "protocol/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

namespace host::sandbox {

// Destroying it cancels; it never rings after that.
class Alarm {
  public:
    virtual ~Alarm() = default;
};

class Clock {
  public:
    virtual ~Clock() = default;
    virtual std::int64_t unix_ms() const = 0;
    virtual std::int64_t boottime_ms() const = 0;
    // Random, the kernel's; instants of boottime_ms() are only comparable under the same one.
    virtual const std::string& host_boot_id() const = 0;
    // Rings once, at or after that instant, never from inside this call.
    [[nodiscard]] virtual std::unique_ptr<Alarm> alarm_at(std::int64_t boottime_ms,
                                                          std::function<void()> ring) = 0;

    [[nodiscard]] std::unique_ptr<Alarm> alarm_in(std::chrono::milliseconds delay,
                                                  std::function<void()> ring) {
        return alarm_at(boottime_ms() + delay.count(), std::move(ring));
    }
};

// One timerfd for all alarms. Threading: the executor's thread.
protocol::Result<std::unique_ptr<Clock>> make_system_clock(boost::asio::any_io_executor executor);

}  // namespace host::sandbox
