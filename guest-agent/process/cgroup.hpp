#pragma once
// ProcessGroups as cgroups (v2): <root>/commands with the limits, one child per command that dies
// as a whole when memory runs out. The agent stays in the root group, outside all limits. Source:
// kernel documentation, admin-guide/cgroup-v2.

#include "guest-agent/process/process_group.hpp"

#include <string_view>

namespace guest_agent {

// Prepares <root>/commands. `root` is a cgroup2 mount whose controllers are ours to enable; those
// that the kernel lacks are done without. io when no groups can be made at all.
protocol::Result<std::unique_ptr<ProcessGroups>> open_cgroups(const std::string& root);

// The part of the machine's memory that commands may use when the host does not say, from the text
// of /proc/meminfo: what is left now, less a reserve for the kernel and for the agent, which keeps
// windows and rings of outputs. 0 when the text cannot be read. Pure.
std::uint64_t memory_for_commands(std::string_view meminfo);

// Bytes that the kernel could take back from a cgroup, from the text of its memory.stat: file pages
// and caches, but nothing of a file system in memory. Pure.
std::uint64_t reclaimable_memory(std::string_view memory_stat);

}  // namespace guest_agent
