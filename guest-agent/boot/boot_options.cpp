#include "guest-agent/boot/boot_options.hpp"

namespace guest_agent {

BootOptions parse_boot_options(std::string_view command_line) {
    BootOptions options;
    while (true) {
        const auto start = command_line.find_first_not_of(" \t\n");
        if (start == std::string_view::npos) return options;
        const auto end = command_line.find_first_of(" \t\n", start);
        const auto word = command_line.substr(start, end - start);
        if (word == "capsule.probe") options.probe = true;
        if (word == "capsule.transport=vsock") options.transport = TransportChoice::vsock;
        if (word == "capsule.transport=serial") options.transport = TransportChoice::serial;
        if (end == std::string_view::npos) return options;
        command_line.remove_prefix(end);
    }
}

}  // namespace guest_agent
