#pragma once
// Bounds of a definition, in one place; docs/definitions.md states them for users. They keep a
// recipe readable by people and cheap to check, and are far above what real recipes need.

#include <cstddef>
#include <cstdint>

namespace host::definition::limits {

inline constexpr std::size_t text_bytes = 1u << 20;  // as much as one request may carry
inline constexpr std::size_t depth = 16;             // nested lists and objects
inline constexpr std::size_t findings = 20;          // reported at once

inline constexpr std::size_t packages = 256;
inline constexpr std::size_t users = 64;
inline constexpr std::size_t vfs_mounts = 16;  // each is a device of the machine and a host process
inline constexpr std::size_t secret_mounts = 64;
inline constexpr std::size_t startup_commands = 100;
inline constexpr std::size_t hosts = 256;
inline constexpr std::size_t environment_entries = 256;  // leaves as many to each command
inline constexpr std::size_t path_bytes = 4'095;         // PATH_MAX less the NUL
inline constexpr std::int64_t cpus = 64;
inline constexpr std::uint64_t memory_bytes_max = 1ull << 40;
inline constexpr std::uint64_t disk_bytes_min = 64ull << 20;
inline constexpr std::uint64_t disk_bytes_max = 16ull << 40;

}  // namespace host::definition::limits
