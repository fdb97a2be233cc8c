#pragma once
// The two byte streams a link runs over. Every descriptor returned is non-blocking and
// close-on-exec. Sources: vsock(7); virtio 1.2 sections 5.3 (console device, multiport) and 5.10.

#include "protocol/base/result.hpp"
#include "protocol/base/unique_fd.hpp"

#include <cstdint>
#include <string>

namespace protocol {

// ---- host side ----
// Starts connecting to a guest from a source port below 1024 (needs CAP_NET_BIND_SERVICE); the
// caller waits for writability. Never call this on a host without /dev/vhost-vsock: the address
// family would reach that machine's own outer host.
Result<UniqueFd> connect_vsock(std::uint32_t cid, std::uint32_t port);
// QEMU's Unix socket behind a virtio-serial port.
Result<UniqueFd> connect_unix(const std::string& path);

// ---- guest side ----
// Listens for any CID; accept_host_vsock() drops every peer but CID 2 with a source port below 1024
// (docs/threat-model.md). `unavailable` when the guest has no vsock device.
Result<UniqueFd> listen_vsock(std::uint32_t port);
// One accepted, vetted connection; nullopt-like failure `not_found` when none is pending,
// `forbidden` when the peer was refused (and closed).
Result<UniqueFd> accept_host_vsock(int listener);
// The port named limits::serial_port_name, found by name under /sys/class/virtio-ports, opened
// non-blocking. not_found when the machine has none.
Result<UniqueFd> open_virtio_port(const std::string& name);

}  // namespace protocol
