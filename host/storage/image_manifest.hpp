#pragma once
// manifest.json of an artefact of the image store: the members that the host reads, those that not
// every kind has as optionals. images/README.md describes all of them.

#include "protocol/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe.hpp>

namespace host::storage {

struct ManifestFile {
    ManifestFile() = default;
    std::string file, sha256;
    std::uint64_t size = 0;
};
BOOST_DESCRIBE_STRUCT(ManifestFile, (), (file, sha256, size))

struct ManifestDisk {
    ManifestDisk() = default;
    std::string file;
    std::optional<std::string> sha256;
    std::optional<std::uint64_t> size;
    std::uint64_t virtual_size = 0;
};
BOOST_DESCRIBE_STRUCT(ManifestDisk, (), (file, sha256, size, virtual_size))

struct ManifestPackage {
    ManifestPackage() = default;
    std::string name, version;
};
BOOST_DESCRIBE_STRUCT(ManifestPackage, (), (name, version))

struct ManifestArchive {  // of `archives` with a version, of `missing` with a reason
    ManifestArchive() = default;
    std::string name, what;
    std::optional<std::string> version, reason;
};
BOOST_DESCRIBE_STRUCT(ManifestArchive, (), (name, what, version, reason))

struct ImageManifest {
    ImageManifest() = default;
    std::uint32_t format_version = 0;
    std::string kind, id;
    std::optional<std::string> created, debian_version;
    std::optional<std::string> kernel;               // of an initrd: the kernel its modules are for
    std::optional<std::vector<ManifestFile>> files;  // of kernel and initrd
    std::optional<ManifestDisk> disk;
    std::optional<std::vector<ManifestPackage>> packages;
    std::optional<std::vector<ManifestArchive>> archives, missing;
};
BOOST_DESCRIBE_STRUCT(ImageManifest, (),
                      (format_version, kind, id, created, debian_version, kernel, files, disk,
                       packages, archives, missing))

// Of <folder>/manifest.json; unsupported when it is of another kind or format.
protocol::Result<ImageManifest> read_manifest(const std::string& folder, const std::string& kind);

}  // namespace host::storage
