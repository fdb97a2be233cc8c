#include "host/machine/checks.hpp"
#include "host/model/defaults.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

namespace host::machine {
namespace {

namespace defaults = model::defaults;

constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;

double in_gibibytes(std::uint64_t bytes) {
    return static_cast<double>(bytes) / gibibyte;
}

// The words after "flags" of the first processor.
std::string processor_flags() {
    std::ifstream input("/proc/cpuinfo");
    for (std::string line; std::getline(input, line);) {
        if (line.starts_with("flags")) return line + " ";
    }
    return {};
}

std::uint64_t memory_value(const std::string& name) {
    std::ifstream input("/proc/meminfo");
    for (std::string line; std::getline(input, line);) {
        std::istringstream fields(line);
        std::string key;
        std::uint64_t kibibytes = 0;
        if (fields >> key >> kibibytes && key == name + ":") return kibibytes * 1024;
    }
    return 0;
}

// The state folder may not exist yet.
std::string nearest_existing(std::filesystem::path path) {
    std::error_code error;
    while (!std::filesystem::exists(path, error) && path.has_relative_path())
        path = path.parent_path();
    return path;
}

}  // namespace

Check check_processor() {
    const std::string flags = processor_flags();
    const char* feature = flags.find(" vmx ") != flags.npos   ? "Intel VT-x"
                          : flags.find(" svm ") != flags.npos ? "AMD-V"
                                                              : nullptr;
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    if (feature != nullptr) return passed("processor", fmt::format("{} with {}", count, feature));
    return warned(
        "processor", fmt::format("{} without virtualization (neither vmx nor svm)", count),
        "switch virtualization on in the firmware setup; in a virtual machine or cloud instance, "
        "choose one with nested virtualization. Without it capsules run, but several times slower");
}

Check check_memory(sandbox::Accelerator accelerator) {
    const std::uint64_t available = memory_value("MemAvailable");
    const std::uint64_t each = defaults::memory_bytes + sandbox::run_memory_overhead(accelerator);
    const std::uint64_t usable = available > defaults::host_memory_reserve_bytes
                                     ? available - defaults::host_memory_reserve_bytes
                                     : 0;
    std::string detail = fmt::format("{:.1f} GiB available: room for {} capsules of default size",
                                     in_gibibytes(available), usable / each);
    if (usable >= each) return passed("memory", std::move(detail));
    return warned(
        "memory", std::move(detail),
        "free some memory, or give capsules less of it (`resources` in a definition, or the "
        "daemon's configuration)");
}

Check check_egress(const std::string& program) {
    if (access(program.c_str(), X_OK) == 0) return passed("network proxy", program);
    return failed("network proxy", program + " cannot be executed: no capsule reaches a network",
                  "install the package capsule-host again, or name the program in the "
                  "configuration, egress-program = FILE");
}

Check check_disk(const std::string& state_folder) {
    const std::string place = nearest_existing(state_folder);
    struct statvfs status {};
    if (statvfs(place.c_str(), &status) != 0) {
        return failed("disk", place + " cannot be examined",
                      "check that the state folder can be read");
    }
    const std::uint64_t free = static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
    std::string detail = fmt::format("{:.1f} GiB free below {}", in_gibibytes(free), place);
    // One GiB beyond the reserve, or the first capsule that writes fills it.
    if (free >= 2 * defaults::host_disk_reserve_bytes) return passed("disk", std::move(detail));
    return warned("disk", std::move(detail), "free some space, or move the state folder (--state)");
}

}  // namespace host::machine
