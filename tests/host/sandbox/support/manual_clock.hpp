#pragma once
// ManualClock: stands still until a test moves it.

#include "host/sandbox/clock.hpp"

#include <map>
#include <memory>

namespace host::sandbox {

class ManualClock final : public Clock {
  public:
    std::int64_t unix_ms() const override { return 1'700'000'000'000 + now_; }
    std::int64_t boottime_ms() const override { return now_; }
    const std::string& host_boot_id() const override { return boot_id_; }
    std::unique_ptr<Alarm> alarm_at(std::int64_t at, std::function<void()> ring) override {
        auto entry = std::make_shared<Entry>();
        entry->at = at;
        entry->ring = std::move(ring);
        entries_->emplace(at, entry);
        return std::make_unique<Handle>(entries_, entry);
    }

    // Moves to the next alarm at or before `until` and rings it. False: there is none.
    bool ring_next(std::int64_t until) {
        if (entries_->empty() || entries_->begin()->first > until) return false;
        const auto entry = entries_->begin()->second;
        entries_->erase(entries_->begin());
        now_ = std::max(now_, entry->at);
        entry->ring();
        return true;
    }
    void set(std::int64_t now) { now_ = std::max(now, now_); }
    void reboot() { boot_id_ += "'"; }
    std::size_t alarms() const { return entries_->size(); }

  private:
    struct Entry {
        std::int64_t at{};
        std::function<void()> ring;
    };
    using Entries = std::multimap<std::int64_t, std::shared_ptr<Entry>>;
    class Handle final : public Alarm {
      public:
        Handle(std::shared_ptr<Entries> entries, std::shared_ptr<Entry> entry)
            : entries_(std::move(entries)), entry_(std::move(entry)) {}
        ~Handle() override {
            std::erase_if(*entries_, [this](const auto& item) { return item.second == entry_; });
        }

      private:
        std::shared_ptr<Entries> entries_;
        std::shared_ptr<Entry> entry_;
    };

    std::shared_ptr<Entries> entries_ = std::make_shared<Entries>();
    std::int64_t now_ = 1'000'000;
    std::string boot_id_ = "host-boot";
};

}  // namespace host::sandbox
