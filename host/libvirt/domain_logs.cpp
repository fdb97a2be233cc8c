#include "host/libvirt/domain_logs.hpp"

#include "host/libvirt/domain_xml.hpp"

#include <filesystem>
#include <vector>

namespace host::libvirt {

void remove_logs(const protocol::RunId& run) {
    const std::string prefix = domain_name(run);
    std::error_code error;
    std::vector<std::filesystem::path> ours;
    // "capsule-<id>.log", "capsule-<id>-fs0-virtiofsd.log", and what virtlogd rotated (".log.0").
    for (std::filesystem::directory_iterator entry("/var/log/libvirt/qemu", error), end;
         !error && entry != end; entry.increment(error)) {
        if (entry->path().filename().native().starts_with(prefix)) ours.push_back(entry->path());
    }
    for (const auto& file : ours) std::filesystem::remove(file, error);
}

}  // namespace host::libvirt
