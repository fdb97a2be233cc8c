// Images as people see them, and their removal.

#include "host/storage/image_catalogue.hpp"
#include "host/storage/image_manifest.hpp"
#include "host/storage/os_failure.hpp"
#include "host/storage/remove_tree.hpp"
#include "protocol/base/name.hpp"
#include "protocol/base/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>

#include <fmt/format.h>

namespace host::storage {

namespace {

using protocol::Kind;
using protocol::Result;
using protocol::UniqueFd;
using sandbox::ImageInfo;

constexpr std::size_t digits = 12;
constexpr char removing[] = ".removing-";

// "full" of "full-0123456789ab"; "" for anything else.
std::string name_of(const std::string& version) {
    const auto dash = version.rfind('-');
    if (dash == std::string::npos || dash == 0 || version.size() - dash - 1 != digits ||
        version.find_first_not_of("0123456789abcdef", dash + 1) != std::string::npos ||
        !protocol::is_valid_name(version)) {
        return {};
    }
    return version.substr(0, dash);
}

// What a link of the store names; "" where there is none.
std::string target_of(const std::string& link) {
    std::error_code error;
    return std::filesystem::read_symlink(link, error).filename().native();
}

template <typename T>
std::vector<T> list_of(const std::optional<std::vector<T>>& list) {
    return list.value_or(std::vector<T>());
}

ImageInfo info_of(const ImageManifest& manifest) {
    ImageInfo info;
    info.created = manifest.created.value_or("");
    info.debian_version = manifest.debian_version.value_or("");
    info.disk_bytes = manifest.disk ? manifest.disk->virtual_size : 0;
    info.file_bytes = manifest.disk ? manifest.disk->size.value_or(0) : 0;
    for (const ManifestArchive& entry : list_of(manifest.archives)) {
        sandbox::ImageArchive archive;
        archive.name = entry.name;
        archive.what = entry.what;
        archive.version = entry.version.value_or("");
        info.archives.push_back(std::move(archive));
    }
    for (const ManifestArchive& entry : list_of(manifest.missing)) {
        sandbox::ImageGap gap;
        gap.name = entry.name;
        gap.what = entry.what;
        gap.reason = entry.reason.value_or("");
        info.missing.push_back(std::move(gap));
    }
    for (const ManifestPackage& entry : list_of(manifest.packages)) {
        sandbox::ImagePackage package;
        package.name = entry.name;
        package.version = entry.version;
        info.packages.push_back(std::move(package));
    }
    return info;
}

// A link is replaced by a rename, so that it always names something.
Result<void> point_at(const std::string& store, const std::string& name,
                      const std::string& version) {
    const std::string link = store + "/" + name;
    if (version.empty()) {
        if (::unlink(link.c_str()) == 0 || errno == ENOENT) return {};
        return protocol::fail(os_failure("removing " + link, errno));
    }
    const std::string made = store + "/.link-" + name;
    ::unlink(made.c_str());
    if (::symlink(version.c_str(), made.c_str()) != 0 ||
        ::rename(made.c_str(), link.c_str()) != 0) {
        return protocol::fail(os_failure("changing " + link, errno));
    }
    return {};
}

// images/build.sh holds it while it builds.
Result<UniqueFd> lock_builds_of(const std::string& store, const std::string& name) {
    const std::string path = store + "/.lock-" + name;
    UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!lock) return protocol::fail(os_failure("opening " + path, errno));
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
    if (errno != EWOULDBLOCK) return protocol::fail(os_failure("locking " + path, errno));
    return protocol::fail(protocol::Failure::with_code(
        Kind::conflict, "in-use", "the image " + name + " is being built right now"));
}

// Renamed first: half a folder must not look like an image. With what an earlier removal left.
Result<void> remove_folder(const std::string& store, const std::string& version) {
    const UniqueFd folder(::open(store.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return protocol::fail(os_failure("opening " + store, errno));
    const std::string doomed = removing + version;
    TRY_VOID(remove_tree(folder.get(), doomed));
    if (::renameat(folder.get(), version.c_str(), folder.get(), doomed.c_str()) != 0) {
        return protocol::fail(os_failure("renaming " + store + "/" + version, errno));
    }
    return remove_tree(folder.get(), doomed);
}

}  // namespace

Result<std::vector<ImageInfo>> ImageCatalogue::list() const {
    std::vector<ImageInfo> images;
    std::error_code error;
    const std::string by_default = standard();
    std::filesystem::directory_iterator entry(folder_, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        const std::string version = entry->path().filename().native();
        const std::string name = name_of(version);
        if (name.empty() || name == "kernel" || name == "initrd" || entry->is_symlink()) continue;
        const auto manifest = read_manifest(entry->path().native(), "disk");
        ImageInfo info;
        if (manifest) {
            info = info_of(*manifest);
            info.packages.clear();
        } else {
            info.problem = manifest.error().describe();
        }
        info.name = name;
        info.version = version;
        info.current = target_of(folder_ + "/" + name) == version;
        info.standard = version == by_default || (info.current && name == by_default);
        images.push_back(std::move(info));
    }
    if (error && error != std::errc::no_such_file_or_directory) {
        return protocol::fail(os_failure("listing " + folder_, error.value()));
    }
    std::ranges::sort(images, [](const ImageInfo& left, const ImageInfo& right) {
        if (left.name != right.name) return left.name < right.name;
        if (left.created != right.created) return left.created > right.created;
        return left.version < right.version;
    });
    return images;
}

Result<ImageInfo> ImageCatalogue::describe(const std::string& name) const {
    TRY(const auto image, find(name));
    const auto folder = std::filesystem::path(image.manifest.value).parent_path();
    TRY(const auto manifest, read_manifest(folder.native(), "disk"));
    ImageInfo info = info_of(manifest);
    info.version = folder.filename().native();
    info.name = name_of(info.version);
    info.current = target_of(folder_ + "/" + info.name) == info.version;
    const std::string by_default = standard();
    info.standard = info.version == by_default || (info.current && info.name == by_default);
    return info;
}

Result<void> ImageCatalogue::remove(const std::string& version) const {
    const std::string name = name_of(version);
    std::error_code error;
    if (name.empty() || name == "kernel" || name == "initrd" ||
        !std::filesystem::exists(folder_ + "/" + version, error)) {
        return protocol::fail(protocol::Failure::with_code(
            Kind::not_found, "not-found",
            "there is no image " + protocol::escape_foreign(version, 80)));
    }
    TRY(const UniqueFd lock, lock_builds_of(folder_, name));
    if (target_of(folder_ + "/" + name) == version) {
        TRY(const auto images, list());
        const auto newest = std::ranges::find_if(images, [&](const ImageInfo& image) {
            return image.name == name && image.version != version && image.problem.empty();
        });
        TRY_VOID(point_at(folder_, name, newest == images.end() ? "" : newest->version));
    }
    return remove_folder(folder_, version);
}

}  // namespace host::storage
