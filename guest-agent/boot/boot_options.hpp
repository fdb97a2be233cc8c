#pragma once
// What the kernel command line tells the agent. Only our own words count, each exactly as written
// here; everything else on the line belongs to the kernel.

#include <cstdint>
#include <optional>
#include <string_view>

namespace guest_agent {

enum class TransportChoice : std::uint8_t { vsock, serial };

struct BootOptions {
    BootOptions() = default;
    bool probe = false;  // capsule.probe: say that user space was reached, power off
    std::optional<TransportChoice> transport;  // capsule.transport=vsock|serial; else found out
};

BootOptions parse_boot_options(std::string_view command_line);

}  // namespace guest_agent
