// Images of the host, and which one a capsule starts from.

#include "host/sandbox/refusals.hpp"
#include "host/sandbox/service_impl.hpp"
#include "protocol/base/name.hpp"

#include <algorithm>

namespace host::sandbox {

namespace {

protocol::Failure image_missing(const std::string& why) {
    return protocol::Failure::with_code(protocol::Kind::unavailable, "image-missing", why);
}

protocol::Failure in_use(const std::string& why) {
    return protocol::Failure::with_code(protocol::Kind::conflict, "in-use", why);
}

bool is_named_by(const std::string& reference, const ImageInfo& image) {
    return reference == image.version || (image.current && reference == image.name);
}

}  // namespace

Result<BootImage> ServiceImpl::image_of(const model::CapsuleRecord& capsule) {
    std::string name = capsule.definition.image;
    if (name.empty()) {
        TRY(const auto space, database_.find_namespace(capsule.name.space));
        if (space) name = space->image;
    }
    auto image = core_->parts.disks->image(name);
    if (!image && image.error().kind() == protocol::Kind::not_found) {
        return protocol::fail(image_missing(image.error().message()));
    }
    if (image && doomed_images_.contains(image->version)) {
        return protocol::fail(image_missing("the image " + image->version + " is being deleted"));
    }
    return image;
}

Async<std::vector<ImageInfo>> ServiceImpl::images(Principal principal) {
    const auto self = shared_from_this();
    CO_TRY_VOID(rights_of(principal));
    auto list = [disks = core_->parts.disks] { return disks->images(); };
    co_return co_await on_workers(*core_->parts.workers, std::move(list));
}

Async<ImageInfo> ServiceImpl::image(Principal principal, std::string name) {
    const auto self = shared_from_this();
    CO_TRY_VOID(rights_of(principal));
    auto describe = [disks = core_->parts.disks, name] { return disks->describe_image(name); };
    co_return co_await on_workers(*core_->parts.workers, std::move(describe));
}

Result<void> ServiceImpl::check_unused(const ImageInfo& image) {
    // A run that an earlier version of the daemon started may still have only the image's name.
    const auto uses_it = [&image](const auto& entry) {
        const std::string& used = entry.second->record().definition.image;
        return used.empty() ? image.standard : is_named_by(used, image);
    };
    const auto run = std::ranges::find_if(core_->live, uses_it);
    if (run != core_->live.end()) {
        return protocol::fail(
            in_use("the image " + image.version + " is used by the live run " + run->first.str()));
    }
    TRY(const auto spaces, database_.namespaces());
    for (const auto& space : spaces) {
        if (!is_named_by(space.image, image)) continue;
        return protocol::fail(in_use("the image " + image.version +
                                     " is the default of namespace \"" + space.name +
                                     "\"; choose another one first: mt image use"));
    }
    return {};
}

Async<ImageInfo> ServiceImpl::delete_image(Principal principal, std::string name) {
    const auto self = shared_from_this();
    CO_TRY(const Rights rights, rights_of(principal));
    if (!rights.may_administer) {
        co_return protocol::fail(forbidden("only an administrator of the host deletes images"));
    }
    // From the list, because what is damaged must be deletable too.
    auto list = [disks = core_->parts.disks] { return disks->images(); };
    const auto images = co_await on_workers(*core_->parts.workers, std::move(list));
    if (!images) co_return protocol::fail(images.error());
    const auto found = std::ranges::find_if(
        *images, [&name](const ImageInfo& image) { return is_named_by(name, image); });
    if (found == images->end()) {
        co_return protocol::fail(not_found("image " + protocol::escape_foreign(name, 80)));
    }
    const ImageInfo image = *found;
    CO_TRY_VOID(check_unused(image));
    if (!doomed_images_.insert(image.version).second) {
        co_return protocol::fail(in_use("the image " + image.version + " is being deleted"));
    }
    auto remove = [disks = core_->parts.disks, version = image.version] {
        return disks->remove_image(version);
    };
    auto removed = co_await on_workers(*core_->parts.workers, std::move(remove));
    doomed_images_.erase(image.version);
    if (!removed) co_return protocol::fail(std::move(removed).error());
    co_return image;
}

Async<model::NamespaceRecord> ServiceImpl::set_default_image(Principal principal, std::string space,
                                                             std::string image) {
    const auto self = shared_from_this();
    CO_TRY_VOID(check_space(principal, space));
    if (!image.empty()) {
        auto describe = [disks = core_->parts.disks, image] {
            return disks->describe_image(image);
        };
        auto described = co_await on_workers(*core_->parts.workers, std::move(describe));
        if (!described) co_return protocol::fail(std::move(described).error());
    }
    CO_TRY_VOID(database_.set_namespace_image(space, image));
    CO_TRY(const auto record, database_.find_namespace(space));
    if (!record) co_return protocol::fail(not_found("namespace \"" + space + "\""));
    co_return *record;
}

}  // namespace host::sandbox
