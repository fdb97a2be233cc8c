#pragma once
// What bounds and kills a command's whole tree of processes. In a machine that is a cgroup per
// command (cgroup.hpp); the narrow interface lets the rest run where there are none. Threading: the
// loop thread.

#include "protocol/base/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>

namespace guest_agent {

class ProcessGroup {
  public:
    virtual ~ProcessGroup() = default;
    // Directory for CLONE_INTO_CGROUP, or -1.
    virtual int directory() const = 0;
    virtual void kill() = 0;
    virtual void signal(int number) = 0;
    // Something of this group was ended because memory ran out.
    virtual bool out_of_memory() const = 0;
    virtual std::optional<std::uint64_t> peak_memory() const = 0;
    // False while processes are left in it.
    virtual bool remove() = 0;
};

class ProcessGroups {
  public:
    virtual ~ProcessGroups() = default;
    // `name` is unique among living groups and safe as a file name.
    virtual protocol::Result<std::unique_ptr<ProcessGroup>> make(const std::string& name) = 0;
    // For all groups together. memory_max 0: what the machine has, less a reserve.
    virtual protocol::Result<void> limit(std::uint64_t memory_max, std::uint32_t pids_max) = 0;
    // The groups wait for memory: ends the one that uses most, if there is nothing else to be had.
    virtual void relieve_memory() = 0;
    // Every process of every group, also of groups given up long ago.
    virtual void kill_all() = 0;
};

}  // namespace guest_agent
