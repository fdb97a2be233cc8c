#include "host/storage/image_catalogue.hpp"

#include "host/storage/os_failure.hpp"
#include "protocol/base/name.hpp"
#include "protocol/wire/json_codec.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <sys/stat.h>

#include <boost/describe.hpp>
#include <fmt/format.h>

namespace host::storage {

// What is read of the manifests; names as in the files, in camelCase.
struct DiskPart {
    DiskPart() = default;
    std::string file;
    std::uint64_t virtual_size = 0;
};
BOOST_DESCRIBE_STRUCT(DiskPart, (), (file, virtual_size))

struct ImageManifest {
    ImageManifest() = default;
    std::uint32_t format_version = 0;
    std::string kind;
    std::string id;
    std::optional<std::string> kernel;  // of an initrd: the kernel its modules are for
    std::optional<DiskPart> disk;
};
BOOST_DESCRIBE_STRUCT(ImageManifest, (), (format_version, kind, id, kernel, disk))

namespace {

using protocol::Kind;
using protocol::Result;
using sandbox::BootImage;
using sandbox::HostPath;

constexpr std::uint32_t known_format = 1;
constexpr std::size_t manifest_limit = 4u << 20;

struct Part {
    std::string folder;  // real path
    ImageManifest manifest;
};

Result<std::string> read_text(const std::string& file) {
    std::ifstream input(file, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
    if (!input) return protocol::fail(Kind::io, file + " cannot be read");
    if (text.size() > manifest_limit)
        return protocol::fail(Kind::too_large, file + " is not a manifest");
    return text;
}

Result<Part> read_part(const std::string& images, const std::string& name, const char* kind) {
    const std::string link = images + "/" + name;
    const std::unique_ptr<char, decltype(&std::free)> real(realpath(link.c_str(), nullptr),
                                                           &std::free);
    if (!real) {
        if (errno != ENOENT) return protocol::fail(os_failure(link, errno));
        return protocol::fail(
            Kind::not_found,
            fmt::format("there is no {} in {}; build it: images/build.sh {}{}", name, images,
                        name == "initrd" ? "all" : name, name == "initrd" ? " --agent FILE" : ""));
    }
    Part part;
    part.folder = real.get();
    const std::string file = part.folder + "/manifest.json";
    TRY(const std::string text, read_text(file));
    auto parsed = protocol::parse_json(text);
    if (!parsed) return protocol::fail(std::move(parsed).error().context(file));
    auto manifest = protocol::from_json<ImageManifest>(*parsed, protocol::UnknownMembers::ignore,
                                                       protocol::Naming::camel_case);
    if (!manifest) return protocol::fail(std::move(manifest).error().context(file));
    part.manifest = std::move(*manifest);
    if (part.manifest.format_version != known_format || part.manifest.kind != kind) {
        return protocol::fail(Kind::unsupported,
                              fmt::format("{} describes a {} in format {}, not a {} in format {}",
                                          file, protocol::escape_foreign(part.manifest.kind, 40),
                                          part.manifest.format_version, kind, known_format));
    }
    return part;
}

Result<HostPath> file_of(const Part& part, const std::string& name) {
    std::string path = part.folder + "/" + name;
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return protocol::fail(Kind::not_found,
                              path + " is missing; build it again with images/build.sh");
    }
    return HostPath(std::move(path));
}

}  // namespace

Result<BootImage> ImageCatalogue::find(const std::string& name) const {
    BootImage image;
    image.name = name.empty() ? "base" : name;
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
                        "images/build.sh initrd --agent FILE",
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
    return image;
}

}  // namespace host::storage
