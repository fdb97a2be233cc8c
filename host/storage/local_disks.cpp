#include "host/storage/local_disks.hpp"

#include "host/storage/bind_mounts.hpp"
#include "host/storage/guest_owner.hpp"
#include "host/storage/os_failure.hpp"
#include "host/storage/program.hpp"
#include "host/storage/remove_tree.hpp"
#include "protocol/base/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

namespace host::storage {
namespace {

using protocol::Kind;
using protocol::Result;
using protocol::RunId;
using protocol::UniqueFd;
using sandbox::BootImage;
using sandbox::HostPath;
using sandbox::RunFolder;

// Enter, but not list: for the run's uid. QEMU opens its overlay by path.
constexpr mode_t enter_only = 0711;

UniqueFd open_folder(const std::string& path) {
    return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// mkdir with exactly this mode, whatever the umask.
Result<void> make_folder(const std::string& path, mode_t mode) {
    if (mkdir(path.c_str(), mode) != 0 || chmod(path.c_str(), mode) != 0) {
        return protocol::fail(os_failure("making " + path, errno));
    }
    return {};
}

// qemu-img writes the few tables of an empty overlay; its own format, its own tool.
Result<void> make_overlay(const std::string& path, const BootImage& image, std::uint64_t bytes) {
    ProgramRequest request;
    request.arguments = {"qemu-img",
                         "create",
                         "-q",
                         "-f",
                         "qcow2",
                         "-F",
                         "qcow2",
                         "-b",
                         image.base_disk.value,
                         path,
                         fmt::format("{}", bytes)};
    auto made = run_program_checked(request);
    if (!made) return protocol::fail(std::move(made).error());
    return {};
}

}  // namespace

LocalDisks::LocalDisks(std::string state_folder, std::string images_folder,
                       std::string standard_image)
    : state_(std::move(state_folder)),
      runs_(state_ + "/runs"),
      vfs_(state_ + "/vfs"),
      catalogue_(std::move(images_folder), std::move(standard_image)) {}

Result<void> LocalDisks::prepare() {
    std::error_code error;
    std::filesystem::create_directories(state_, error);
    if (error) return protocol::fail(os_failure("making " + state_, error.value()));
    if (mkdir(runs_.c_str(), enter_only) != 0 && errno != EEXIST) {
        return protocol::fail(os_failure("making " + runs_, errno));
    }
    if (chmod(runs_.c_str(), enter_only) != 0) return protocol::fail(os_failure(runs_, errno));
    return vfs_.prepare();
}

Result<BootImage> LocalDisks::image(const std::string& name) {
    return catalogue_.find(name);
}

Result<void> LocalDisks::verify(const BootImage& image) {
    for (const sandbox::FileDigest& file : image.files) TRY_VOID(verifier_.check(file));
    return {};
}

Result<std::vector<sandbox::ImageInfo>> LocalDisks::images() {
    return catalogue_.list();
}

Result<sandbox::ImageInfo> LocalDisks::describe_image(const std::string& name) {
    return catalogue_.describe(name);
}

Result<void> LocalDisks::remove_image(const std::string& version) {
    return catalogue_.remove(version);
}

RunFolder LocalDisks::layout(const RunId& run) const {
    const std::string folder = runs_ + "/" + run.str();
    RunFolder paths;
    paths.folder.value = folder;
    paths.overlay.value = folder + "/disk.qcow2";
    paths.console_log.value = folder + "/console.log";
    paths.serial_socket.value = folder + "/agent.sock";
    return paths;
}

Result<void> LocalDisks::create(const RunId& run, const BootImage& image, std::uint64_t disk_bytes,
                                uid_t uid) {
    const RunFolder paths = layout(run);
    TRY_VOID(make_folder(paths.folder.value, enter_only));
    TRY_VOID(make_overlay(paths.overlay.value, image, std::max(disk_bytes, image.disk_bytes)));
    // By path: nobody but root can change this folder.
    if (chown(paths.overlay.value.c_str(), uid, static_cast<gid_t>(-1)) != 0 ||
        chmod(paths.overlay.value.c_str(), 0600) != 0) {
        return protocol::fail(os_failure("giving away " + paths.overlay.value, errno));
    }
    return {};
}

Result<HostPath> LocalDisks::prepare_vfs(const RunId& run, const std::string& vfs_folder,
                                         const std::string& tag, bool read_only) {
    const std::string source = vfs_.path(vfs_folder);
    const UniqueFd folder = open_folder(source);
    if (!folder) return protocol::fail(os_failure("opening " + source, errno));
    TRY_VOID(own_vfs_root(folder.get()));
    if (!read_only) return HostPath(source);
    const std::string target = layout(run).folder.value + "/" + tag;
    TRY_VOID(make_folder(target, 0700));
    TRY_VOID(bind_read_only(folder.get(), target));
    return HostPath(target);
}

Result<void> LocalDisks::remove(const RunId& run) {
    TRY_VOID(unmount_below(layout(run).folder.value));
    const UniqueFd runs = open_folder(runs_);
    if (!runs) {
        if (errno == ENOENT) return {};
        return protocol::fail(os_failure("opening " + runs_, errno));
    }
    return remove_tree(runs.get(), run.str());
}

Result<std::vector<RunId>> LocalDisks::list() {
    std::vector<RunId> runs;
    std::error_code error;
    std::filesystem::directory_iterator entry(runs_, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        if (auto run = RunId::parse(entry->path().filename().native()))
            runs.push_back(std::move(*run));
    }
    if (error && error != std::errc::no_such_file_or_directory) {
        return protocol::fail(os_failure("listing " + runs_, error.value()));
    }
    return runs;
}

Result<std::uint64_t> LocalDisks::free_bytes() {
    struct statvfs status {};
    if (statvfs(state_.c_str(), &status) != 0) return protocol::fail(os_failure(state_, errno));
    return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

}  // namespace host::storage
