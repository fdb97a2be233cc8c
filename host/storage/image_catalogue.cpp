#include "host/storage/image_catalogue.hpp"

#include "host/storage/image_manifest.hpp"
#include "host/storage/os_failure.hpp"
#include "protocol/base/name.hpp"

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace host::storage {

namespace {

using protocol::Kind;
using protocol::Result;
using sandbox::BootImage;
using sandbox::FileDigest;
using sandbox::HostPath;

struct Part {
    std::string folder;  // real path
    ImageManifest manifest;
};

Result<Part> read_part(const std::string& images, const std::string& name, const char* kind) {
    const std::string link = images + "/" + name;
    const std::unique_ptr<char, decltype(&std::free)> real(realpath(link.c_str(), nullptr),
                                                           &std::free);
    if (!real) {
        if (errno != ENOENT) return protocol::fail(os_failure(link, errno));
        return protocol::fail(
            Kind::not_found,
            fmt::format("there is no {} in {}; build it: mt image build {}", name, images, name));
    }
    Part part;
    part.folder = real.get();
    TRY(part.manifest, read_manifest(part.folder, kind));
    return part;
}

Result<HostPath> file_of(const Part& part, const std::string& name) {
    std::string path = part.folder + "/" + name;
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return protocol::fail(Kind::not_found,
                              path + " is missing; remove its folder and build it again");
    }
    return HostPath(std::move(path));
}

// Of a kernel or an initrd; the disk's manifest has a member of its own for its one file.
FileDigest digest_of(const Part& part, HostPath path, const std::string& name) {
    FileDigest digest;
    digest.path = std::move(path);
    for (const ManifestFile& file : part.manifest.files.value_or(std::vector<ManifestFile>())) {
        if (file.file != name) continue;
        digest.size = file.size;
        digest.sha256 = file.sha256;
    }
    return digest;
}

}  // namespace

Result<BootImage> ImageCatalogue::find(const std::string& name) const {
    BootImage image;
    image.name = name.empty() ? standard() : name;
    // A name is a folder's name below the store, so nothing else may pass.
    if (!protocol::is_valid_name(image.name) || image.name == "kernel" || image.name == "initrd") {
        return protocol::fail(
            Kind::invalid_argument,
            "\"" + protocol::escape_foreign(image.name, 80) + "\" is not the name of an image");
    }
    TRY(const Part base, read_part(folder_, image.name, "disk"));
    TRY(const Part kernel, read_part(folder_, "kernel", "kernel"));
    TRY(const Part initrd, read_part(folder_, "initrd", "initrd"));
    if (initrd.manifest.kernel != kernel.manifest.id) {
        return protocol::fail(
            Kind::conflict,
            fmt::format("the initrd was made for {} but the kernel is {}; build it again: "
                        "mt image build initrd",
                        protocol::escape_foreign(initrd.manifest.kernel.value_or("nothing"), 80),
                        protocol::escape_foreign(kernel.manifest.id, 80)));
    }
    TRY(image.kernel, file_of(kernel, "vmlinux"));
    TRY(image.initrd, file_of(initrd, "initrd.cpio"));
    TRY(image.base_disk, file_of(base, "disk.qcow2"));
    TRY(image.manifest, file_of(base, "manifest.json"));
    image.version = base.manifest.id;
    image.disk_bytes = base.manifest.disk ? base.manifest.disk->virtual_size : 0;
    if (image.disk_bytes == 0) {
        return protocol::fail(Kind::unsupported,
                              image.manifest.value + " does not say how large the disk is");
    }
    image.files.push_back(digest_of(kernel, image.kernel, "vmlinux"));
    image.files.push_back(digest_of(initrd, image.initrd, "initrd.cpio"));
    FileDigest disk;
    disk.path = image.base_disk;
    disk.size = base.manifest.disk->size.value_or(0);
    disk.sha256 = base.manifest.disk->sha256.value_or("");
    image.files.push_back(std::move(disk));
    return image;
}

std::string ImageCatalogue::standard() const {
    if (!standard_.empty()) return standard_;
    return ::access((folder_ + "/full").c_str(), F_OK) == 0 ? "full" : "base";
}

}  // namespace host::storage
