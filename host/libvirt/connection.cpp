#include "host/libvirt/connection.hpp"

#include "host/libvirt/hypervisor.hpp"

#include <cstdlib>
#include <memory>
#include <string_view>

#include <fmt/format.h>

namespace host::libvirt {

protocol::Result<std::unique_ptr<sandbox::Hypervisor>> connect(
    std::string uri, protocol::InstallationId installation, MachineLifetime lifetime) {
    auto hypervisor =
        std::make_unique<LibvirtHypervisor>(std::move(uri), std::move(installation), lifetime);
    TRY_VOID(hypervisor->open());
    return hypervisor;
}

namespace {

// libvirt writes versions as 1000000 * major + 1000 * minor + release.
std::string readable(unsigned long version) {
    return fmt::format("{}.{}.{}", version / 1'000'000, version / 1'000 % 1'000, version % 1'000);
}

SessionCallbacks no_callbacks() {
    SessionCallbacks callbacks;
    callbacks.news = [](std::string, DomainNews) {};
    callbacks.closed = [] {};
    return callbacks;
}

}  // namespace

protocol::Result<bool> confines_with_apparmor(const std::string& uri) {
    TRY(const auto session, Session::open(uri, no_callbacks()));
    const std::unique_ptr<char, decltype(&std::free)> capabilities(
        virConnectGetCapabilities(session->get()), &std::free);
    if (!capabilities) return protocol::fail(last_failure("asking libvirt for its capabilities"));
    // One <secmodel> for each driver that is at work.
    return std::string_view(capabilities.get()).find("<model>apparmor</model>") !=
           std::string_view::npos;
}

protocol::Result<Versions> versions(const std::string& uri) {
    TRY(const auto session, Session::open(uri, no_callbacks()));
    unsigned long libvirt = 0;
    unsigned long qemu = 0;
    if (virConnectGetLibVersion(session->get(), &libvirt) < 0 ||
        virConnectGetVersion(session->get(), &qemu) < 0) {
        return protocol::fail(last_failure("asking libvirt for versions"));
    }
    Versions result;
    result.libvirt = readable(libvirt);
    result.qemu = readable(qemu);
    return result;
}

}  // namespace host::libvirt
