#pragma once
// The image store: <images>/kernel, initrd and one name per image, each a link to a folder
// `<name>-<12 hexadecimal digits>` with a manifest. images/README.md describes how they are made.
// Blocking; stateless, so safe from any thread. image_catalogue.cpp finds what a run boots from,
// image_store.cpp lists, describes and removes images.

#include "host/sandbox/disks.hpp"
#include "protocol/base/result.hpp"

#include <string>
#include <vector>

namespace host::storage {

class ImageCatalogue {
  public:
    // `standard`: the image of who asks for none; "" = "full", or "base" while there is no "full".
    explicit ImageCatalogue(std::string folder, std::string standard = "")
        : folder_(std::move(folder)), standard_(std::move(standard)) {}

    // `name` is an image's name (its current version), a version, or "" = the standard one. Real
    // paths, so that an image built later does not change a run. not_found names what is missing
    // and the command that builds it; conflict: the parts do not belong together.
    protocol::Result<sandbox::BootImage> find(const std::string& name) const;
    std::string standard() const;

    // By name, newest first; without packages. What cannot be used is listed with its problem.
    protocol::Result<std::vector<sandbox::ImageInfo>> list() const;
    // With packages; `name` as in find().
    protocol::Result<sandbox::ImageInfo> describe(const std::string& name) const;
    // Of the versions that are left, the newest becomes the current one. Absent: not_found.
    protocol::Result<void> remove(const std::string& version) const;

  private:
    std::string folder_, standard_;
};

}  // namespace host::storage
