#pragma once
// LocalDisks: sandbox::Disks on this host's file systems. Below the state folder:
//   runs/<run id>/         root, 0711: the run's uid may enter it, and change nothing in it
//     disk.qcow2           overlay, the run's uid, 0600
//     console.log          written by virtlogd
//     agent.sock           serial transport: QEMU's end of the link
//     vfs0, vfs1...        read-only bind mounts
//   vfs/<folder>/          the VFS themselves (VfsFolders)
// Threading: any thread, but one call per run at a time.

#include "host/sandbox/disks.hpp"
#include "host/storage/file_verifier.hpp"
#include "host/storage/image_catalogue.hpp"
#include "host/storage/vfs_folders.hpp"

#include <string>

namespace host::storage {

class LocalDisks final : public sandbox::Disks {
  public:
    // Absolute paths: /var/lib/capsuled and /var/lib/capsuled/images. `standard_image` as in
    // ImageCatalogue.
    LocalDisks(std::string state_folder, std::string images_folder,
               std::string standard_image = "");

    // Makes the state folder's own subfolders. Call once at start.
    protocol::Result<void> prepare();

    protocol::Result<sandbox::BootImage> image(const std::string& name) override;
    protocol::Result<void> verify(const sandbox::BootImage& image) override;
    protocol::Result<std::vector<sandbox::ImageInfo>> images() override;
    protocol::Result<sandbox::ImageInfo> describe_image(const std::string& name) override;
    protocol::Result<void> remove_image(const std::string& version) override;
    sandbox::RunFolder layout(const protocol::RunId& run) const override;
    protocol::Result<void> create(const protocol::RunId& run, const sandbox::BootImage& image,
                                  std::uint64_t disk_bytes, uid_t uid) override;
    protocol::Result<sandbox::HostPath> prepare_vfs(const protocol::RunId& run,
                                                    const std::string& vfs_folder,
                                                    const std::string& tag,
                                                    bool read_only) override;
    protocol::Result<void> remove(const protocol::RunId& run) override;
    protocol::Result<std::vector<protocol::RunId>> list() override;
    protocol::Result<std::uint64_t> free_bytes() override;

  private:
    std::string state_;
    std::string runs_;
    VfsFolders vfs_;
    ImageCatalogue catalogue_;
    FileVerifier verifier_;
};

}  // namespace host::storage
