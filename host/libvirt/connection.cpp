#include "host/libvirt/connection.hpp"

#include "host/libvirt/hypervisor.hpp"

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

}  // namespace

protocol::Result<Versions> versions(const std::string& uri) {
    SessionCallbacks callbacks;
    callbacks.news = [](std::string, DomainNews) {};
    callbacks.closed = [] {};
    TRY(const auto session, Session::open(uri, std::move(callbacks)));
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
