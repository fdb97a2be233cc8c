#pragma once
// Core: what the service and its run supervisors share. Loop thread only. Held by shared_ptr:
// coroutines of supervisors keep it alive until they have returned.

#include "host/sandbox/condition.hpp"
#include "host/sandbox/event_log.hpp"
#include "host/sandbox/parts.hpp"

#include <memory>
#include <optional>
#include <unordered_map>

namespace host::sandbox {

class RunSupervisor;

struct Core {
    explicit Core(Parts given)
        : parts(std::move(given)),
          database(*parts.database),
          clock(*parts.clock),
          events(database, clock, parts.executor),
          platform_known(parts.executor),
          reconnected(parts.executor),
          became_idle(parts.executor) {}

    std::shared_ptr<RunSupervisor> find(const RunId& id) const {
        const auto found = live.find(id);
        return found == live.end() ? nullptr : found->second;
    }

    Parts parts;
    journal::Database& database;
    Clock& clock;
    EventLog events;

    // Runs wait for it: the probe of the accelerator takes seconds on some hosts.
    std::optional<Result<Platform>> platform;
    Condition platform_known;
    // libvirt came back after it had been lost.
    Condition reconnected;

    std::unordered_map<RunId, std::shared_ptr<RunSupervisor>> live;
    // The daemon is going down and leaves runs alive: what fails from now on proves nothing.
    bool closing = false;
    std::size_t tasks = 0;  // coroutines of supervisors
    Condition became_idle;
};

// Counts a coroutine as long as it runs, so that closing can wait for all of them.
class TaskCount {
  public:
    explicit TaskCount(Core& core) : core_(core) { ++core_.tasks; }
    TaskCount(const TaskCount&) = delete;
    ~TaskCount() {
        if (--core_.tasks == 0) core_.became_idle.wake_all();
    }

  private:
    Core& core_;
};

}  // namespace host::sandbox
