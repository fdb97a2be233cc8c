#pragma once
// Disks: a run's folder, overlay and read-only binds on the host. Implemented by host/storage;
// blocking, called from the worker pool. Every removal is idempotent.

#include "host/sandbox/hypervisor.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace host::sandbox {

// A file of the image store, as its manifest describes it.
struct FileDigest {
    FileDigest() = default;
    HostPath path;
    std::uint64_t size{};
    std::string sha256;  // "": the manifest does not say
};

// What a run boots from, resolved to real paths so that a newly built image does not change it.
struct BootImage {
    BootImage() = default;
    std::string name, version;
    HostPath kernel, initrd, base_disk, manifest;
    std::uint64_t disk_bytes{};     // virtual size of the base disk; a run's disk is at least that
    std::vector<FileDigest> files;  // kernel, initrd and base disk
};

// An image as people see it, from its manifest.
struct ImagePackage {
    ImagePackage() = default;
    std::string name, version;
};
struct ImageArchive {  // from elsewhere than Debian
    ImageArchive() = default;
    std::string name, what, version;
};
struct ImageGap {  // belongs into the profile and is not there
    ImageGap() = default;
    std::string name, what, reason;
};
struct ImageInfo {
    ImageInfo() = default;
    std::string name;       // "full"
    std::string version;    // "full-0123456789ab", also a name: of exactly this one
    bool current = false;   // what the name alone stands for
    bool standard = false;  // what a capsule gets that asks for none, nor its namespace
    std::string problem;    // not "": why it cannot be used; the rest is then empty
    std::string created, debian_version;
    std::uint64_t disk_bytes{}, file_bytes{};
    std::vector<ImageArchive> archives;
    std::vector<ImageGap> missing;
    std::vector<ImagePackage> packages;  // empty in lists
};

struct RunFolder {
    RunFolder() = default;
    HostPath folder, overlay, console_log, serial_socket;
};

class Disks {
  public:
    virtual ~Disks() = default;
    // `name` "" = default. not_found names the image and how to build it.
    virtual Result<BootImage> image(const std::string& name) = 0;
    // Are its files what the manifests say? Reads them whole the first time.
    virtual Result<void> verify(const BootImage& image) = 0;
    virtual Result<std::vector<ImageInfo>> images() = 0;
    virtual Result<ImageInfo> describe_image(const std::string& name) = 0;
    // `version` as in ImageInfo. The caller has made sure that no run uses it. conflict "in-use"
    // while it is being built.
    virtual Result<void> remove_image(const std::string& version) = 0;
    // Paths only; creates nothing (so that what must be undone is known before).
    virtual RunFolder layout(const RunId& run) const = 0;
    // Folder (run's uid may enter), overlay of `disk_bytes` backed by the image, owned by `uid`.
    virtual Result<void> create(const RunId& run, const BootImage& image, std::uint64_t disk_bytes,
                                uid_t uid) = 0;
    // Mount-ready source of a VFS: sets owner 1000:1000 and mode 0770; for read_only a read-only
    // bind mount inside the run's folder.
    virtual Result<HostPath> prepare_vfs(const RunId& run, const std::string& vfs_folder,
                                         const std::string& tag, bool read_only) = 0;
    // Unmounts the binds and removes the folder with everything in it.
    virtual Result<void> remove(const RunId& run) = 0;
    // Run folders found on disk, for recovery.
    virtual Result<std::vector<RunId>> list() = 0;
    virtual Result<std::uint64_t> free_bytes() = 0;
};

}  // namespace host::sandbox
