#pragma once
// FileVerifier: compares files of the image store with the digests of their manifests. A file that
// was found right is not read again as long as it is the same one: same inode, size and times.
// Blocking (a large image takes seconds); any thread. Who asks for a file that another thread is
// reading waits for the outcome.

#include "host/sandbox/disks.hpp"
#include "protocol/base/result.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace host::storage {

class FileVerifier {
  public:
    // io "image-damaged" names the file, what is wrong with it and what to do.
    protocol::Result<void> check(const sandbox::FileDigest& file);
    // How many files were read, for tests.
    std::size_t files_read() const;

  private:
    struct Known;
    std::shared_ptr<Known> known(const std::string& path);

    mutable std::mutex mutex_;  // of the members below
    std::map<std::string, std::shared_ptr<Known>> files_;
    std::size_t files_read_ = 0;
};

}  // namespace host::storage
