#pragma once
// The image store, read: <images>/kernel, initrd and one folder per base image, each a link to a
// folder with a manifest. images/README.md describes how they are made. Blocking; stateless, so
// safe from any thread.

#include "host/sandbox/disks.hpp"
#include "protocol/base/result.hpp"

#include <string>

namespace host::storage {

class ImageCatalogue {
  public:
    explicit ImageCatalogue(std::string folder) : folder_(std::move(folder)) {}
    // `name` "" = "base". Real paths, so that an image built later does not change a run. not_found
    // names what is missing and the command that builds it; conflict: the parts do not belong
    // together.
    protocol::Result<sandbox::BootImage> find(const std::string& name) const;

  private:
    std::string folder_;
};

}  // namespace host::storage
