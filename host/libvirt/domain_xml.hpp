#pragma once
// MachineSpec -> libvirt domain XML, as a pure function; and the few facts read back out of a live
// domain's XML. The machine: q35 with direct kernel boot and as few devices as a capsule needs,
// every one of them on the root bus (docs/decisions/0005 says what each costs).

#include "host/sandbox/hypervisor.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

namespace host::libvirt {

inline constexpr char name_prefix[] = "capsule-";
inline constexpr char metadata_uri[] = "https://capsule-host.invalid/xmlns/run/1";

// What the XML needs to know of this host.
struct HostTraits {
    HostTraits() = default;
    gid_t
        qemu_group{};  // libvirt-qemu: QEMU must be able to read the master key that libvirt writes
    std::string firmware;  // a small PVH firmware; "" = QEMU's default
};

std::string domain_name(const protocol::RunId& run);
// internal when a value cannot be written as XML.
protocol::Result<std::string> domain_xml(const sandbox::MachineSpec& spec,
                                         const protocol::InstallationId& installation,
                                         const HostTraits& host);

// What domain_xml wrote as metadata, read from libvirt's copy of that one element.
struct Ownership {
    explicit Ownership(protocol::RunId id, std::string owner)
        : run(std::move(id)), installation(std::move(owner)) {}
    protocol::RunId run;
    std::string installation;
};
std::optional<Ownership> parse_ownership(const std::string& metadata_element);
// The context id that libvirt chose, from a live domain's whole XML.
std::optional<std::uint32_t> parse_cid(const std::string& live_domain_xml);

}  // namespace host::libvirt
