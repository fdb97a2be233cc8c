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

std::string own_folder() {
    std::array<char, 4096> path;
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
    if (length <= 0) return {};
    const std::string program(path.data(), static_cast<std::size_t>(length));
    return program.substr(0, program.rfind('/'));
}

}  // namespace

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
