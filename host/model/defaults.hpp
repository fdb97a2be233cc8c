#pragma once
// Every default and bound an operator may care about, in one place. docs/defaults.md lists them.

#include <chrono>
#include <cstdint>

namespace host::model::defaults {

using namespace std::chrono_literals;

inline constexpr std::uint64_t memory_bytes = 512ull << 20;
inline constexpr std::uint64_t memory_bytes_min = 192ull << 20;
inline constexpr std::uint32_t cpus = 1;       // under TCG always 1
inline constexpr std::uint32_t live_runs = 0;  // 0: as many as memory allows, see below
inline constexpr std::uint64_t host_memory_reserve_bytes = 1024ull << 20;  // left to the host
inline constexpr std::uint64_t run_memory_overhead_bytes = 96ull << 20;    // QEMU, virtiofsd
inline constexpr std::uint64_t translation_cache_bytes = 128ull << 20;     // of QEMU under TCG
inline constexpr std::uint64_t host_disk_reserve_bytes = 1024ull << 20;
inline constexpr auto max_duration = 10min;  // of a run
inline constexpr auto max_duration_limit = 24h;
inline constexpr std::uint32_t commands_per_run = 10'000;
inline constexpr std::uint32_t queued_per_run = 4'096;
inline constexpr std::uint32_t child_runs = 8;  // live runs started from inside one capsule
// QEMU of each run has a uid of its own from this range: above every range that Debian or systemd
// hand out, below 2^31.
inline constexpr std::uint32_t uid_first = 1'900'000'000;
inline constexpr std::uint32_t uid_count = 100'000;
inline constexpr std::uint32_t events_kept = 20'000;
inline constexpr auto ended_runs_retention = 7 * 24h;
inline constexpr std::uint32_t ended_runs_kept = 10'000;
inline constexpr std::uint64_t stored_output_bytes = 2ull << 30;  // all ended commands together
inline constexpr auto link_lost_limit = 30s;  // agent not answering for this long: the run is Error
inline constexpr auto settle_limit = 4s;      // stop commands, sync, unmount
inline constexpr auto end_limit = 5s;         // cause to published terminal status

}  // namespace host::model::defaults
