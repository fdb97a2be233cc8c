#include "host/host_memory.hpp"

#include <fstream>
#include <string>

namespace host {

sandbox::HostMemory read_host_memory() {
    sandbox::HostMemory memory;
    std::ifstream file("/proc/meminfo");
    std::string name, unit;
    std::uint64_t kibibytes = 0;
    while (file >> name >> kibibytes) {
        if (name == "MemTotal:") memory.total_bytes = kibibytes << 10;
        if (name == "MemAvailable:") memory.available_bytes = kibibytes << 10;
        std::getline(file, unit);
    }
    return memory;
}

}  // namespace host
