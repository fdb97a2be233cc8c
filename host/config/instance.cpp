#include "host/config/instance.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace host::config {

using protocol::Failure;
using protocol::Result;
using protocol::UniqueFd;

namespace {

// The uid of a run passes through the state folder to its own disk: others may enter, not list.
constexpr mode_t state_mode = 0711;
constexpr mode_t runtime_mode = 0755;

Result<void> make_folder(const std::string& path, mode_t mode) {
    std::error_code error;
    const bool made = std::filesystem::create_directories(path, error);
    if (error) return protocol::fail(Failure::from_errno("mkdir " + path, error.value()));
    // An existing folder keeps the mode its owner gave it.
    if (made && ::chmod(path.c_str(), mode) < 0) {
        return protocol::fail(Failure::from_errno("chmod " + path, errno));
    }
    return {};
}

Result<void> write_pid(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file) return protocol::fail(Failure::from_errno("open " + path, errno));
    const std::string text = std::to_string(::getpid()) + "\n";
    if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        return protocol::fail(Failure::from_errno("write " + path, errno));
    }
    return {};
}

}  // namespace

Result<Instance> Instance::claim(const std::string& state, const std::string& runtime) {
    TRY_VOID(make_folder(state, state_mode));
    TRY_VOID(make_folder(runtime, runtime_mode));
    UniqueFd lock(::open(state.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock) return protocol::fail(Failure::from_errno("open " + state, errno));
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK) {
            return protocol::fail(protocol::Kind::conflict,
                                  "another capsuled runs on the state folder " + state);
        }
        return protocol::fail(Failure::from_errno("flock " + state, errno));
    }
    const std::string pid_file = runtime + "/capsuled.pid";
    TRY_VOID(write_pid(pid_file));
    return Instance(std::move(lock), pid_file);
}

Instance::~Instance() {
    // Moved from: there is no lock, and the file is somebody else's.
    if (lock_) ::unlink(pid_file_.c_str());
}

}  // namespace host::config
