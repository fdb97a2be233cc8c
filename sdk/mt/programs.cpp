#include "sdk/mt/programs.hpp"

#include <array>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace mt {
namespace {

bool is_program(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
}

constexpr char installed_builder[] = "/usr/share/capsule-host/images/build.sh";
constexpr char installed_agent[] = "/usr/lib/capsule-host/capsule-agent";
// A build folder may lie a few levels below the source tree.
constexpr int levels_up = 4;

std::string own_folder() {
    const std::string program = own_program();
    return program.substr(0, program.rfind('/'));
}

}  // namespace

std::string own_program() {
    std::array<char, 4096> path;
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
    return length <= 0 ? std::string() : std::string(path.data(), static_cast<std::size_t>(length));
}

std::string find_image_builder() {
    std::string folder = own_folder();
    for (int level = 0; level < levels_up && !folder.empty(); ++level) {
        folder.erase(folder.rfind('/'));
        if (std::string builder = folder + "/images/build.sh"; is_program(builder)) return builder;
    }
    return is_program(installed_builder) ? installed_builder : "";
}

std::string find_agent() {
    const std::string folder = own_folder();
    for (const std::string& place : {folder + "/capsule-agent", std::string(installed_agent)}) {
        if (is_program(place)) return place;
    }
    return {};
}

std::string find_daemon() {
    std::vector<std::string> folders;
    if (std::string folder = own_folder(); !folder.empty()) folders.push_back(std::move(folder));
    if (const char* path = std::getenv("PATH")) {
        std::string list(path);
        for (std::size_t start = 0; start <= list.size();) {
            const auto end = std::min(list.find(':', start), list.size());
            // An empty entry would mean the current folder: anybody could have put a program there.
            if (end > start) folders.push_back(list.substr(start, end - start));
            start = end + 1;
        }
    }
    folders.emplace_back("/usr/sbin");
    folders.emplace_back("/usr/libexec/capsuled");
    for (const std::string& folder : folders) {
        if (folder[0] != '/') continue;
        if (std::string candidate = folder + "/capsuled"; is_program(candidate)) return candidate;
    }
    return {};
}

}  // namespace mt
