#pragma once
// Whole small files in one call: kernel files (/proc, /sys), account files. Bounded; blocking,
// which is fine for files that are never slow.

#include "protocol/base/result.hpp"

#include <string>
#include <string_view>

namespace guest_agent {

// too_large when the file holds more than `limit` bytes; io otherwise.
protocol::Result<std::string> read_small_file(const std::string& path,
                                              std::size_t limit = 64u << 10);
// Writes to an existing file in one write(2), as kernel files want it.
protocol::Result<void> write_kernel_file(const std::string& path, std::string_view text);

}  // namespace guest_agent
