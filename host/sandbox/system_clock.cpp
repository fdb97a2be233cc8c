#include "host/sandbox/clock.hpp"
#include "protocol/base/unique_fd.hpp"

#include <cerrno>
#include <fstream>
#include <map>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>

namespace host::sandbox {

namespace {

std::int64_t now_ms(clockid_t clock) {
    timespec now{};
    // Cannot fail with these two clocks and a valid address.
    ::clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

// All alarms of one clock, ordered by their instants; the timerfd is set to the first one.
class AlarmTable : public std::enable_shared_from_this<AlarmTable> {
  public:
    using Alarms = std::multimap<std::int64_t, std::function<void()>>;

    AlarmTable(boost::asio::any_io_executor executor, protocol::UniqueFd timer)
        : timer_(std::move(executor), timer.release()) {}

    Alarms::iterator add(std::int64_t at, std::function<void()> ring) {
        const auto added = alarms_.emplace(at, std::move(ring));
        if (added == alarms_.begin()) set_timer();
        if (!waiting_) wait();
        return added;
    }
    void remove(Alarms::iterator alarm) { alarms_.erase(alarm); }

  private:
    void set_timer() {
        itimerspec when{};
        const std::int64_t at = std::max<std::int64_t>(alarms_.begin()->first, 1);
        when.it_value.tv_sec = at / 1'000;
        when.it_value.tv_nsec = at % 1'000 * 1'000'000;
        ::timerfd_settime(timer_.native_handle(), TFD_TIMER_ABSTIME, &when, nullptr);
    }

    void wait() {
        waiting_ = true;
        timer_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                          [self = weak_from_this()](boost::system::error_code error) {
                              const auto table = self.lock();
                              if (table && !error) table->ring();
                          });
    }

    void ring() {
        waiting_ = false;
        std::uint64_t expirations = 0;
        // Only clears readability; EAGAIN means it was set anew in between.
        [[maybe_unused]] const ssize_t count =
            ::read(timer_.native_handle(), &expirations, sizeof expirations);
        // One at a time: what rings may add and remove alarms.
        while (!alarms_.empty() && alarms_.begin()->first <= now_ms(CLOCK_BOOTTIME)) {
            auto due = alarms_.extract(alarms_.begin());
            due.mapped()();
        }
        if (alarms_.empty()) return;
        set_timer();
        if (!waiting_) wait();
    }

    boost::asio::posix::stream_descriptor timer_;
    Alarms alarms_;
    bool waiting_ = false;
};

class SystemClock final : public Clock {
  public:
    SystemClock(std::shared_ptr<AlarmTable> table, std::string boot_id)
        : table_(std::move(table)), boot_id_(std::move(boot_id)) {}

    std::int64_t unix_ms() const override { return now_ms(CLOCK_REALTIME); }
    std::int64_t boottime_ms() const override { return now_ms(CLOCK_BOOTTIME); }
    const std::string& host_boot_id() const override { return boot_id_; }
    std::unique_ptr<Alarm> alarm_at(std::int64_t at, std::function<void()> ring) override {
        return std::make_unique<Entry>(table_, at, std::move(ring));
    }

  private:
    class Entry final : public Alarm {
      public:
        Entry(std::shared_ptr<AlarmTable> table, std::int64_t at, std::function<void()> ring)
            : table_(std::move(table)), pending_(std::make_shared<bool>(true)) {
            place_ = table_->add(at, [pending = pending_, ring = std::move(ring)] {
                // The entry may be destroyed by what it calls; it must not touch the table then.
                *pending = false;
                ring();
            });
        }
        ~Entry() override {
            if (*pending_) table_->remove(place_);
        }

      private:
        std::shared_ptr<AlarmTable> table_;
        std::shared_ptr<bool> pending_;
        AlarmTable::Alarms::iterator place_;
    };

    std::shared_ptr<AlarmTable> table_;
    std::string boot_id_;
};

}  // namespace

protocol::Result<std::unique_ptr<Clock>> make_system_clock(boost::asio::any_io_executor executor) {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string boot_id;
    if (!std::getline(file, boot_id) || boot_id.empty()) {
        return protocol::fail(protocol::Kind::io, "cannot read the kernel's boot id");
    }
    protocol::UniqueFd timer(::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC));
    if (!timer) return protocol::fail(protocol::Failure::from_errno("timerfd_create", errno));
    auto table = std::make_shared<AlarmTable>(std::move(executor), std::move(timer));
    return std::make_unique<SystemClock>(std::move(table), std::move(boot_id));
}

}  // namespace host::sandbox
