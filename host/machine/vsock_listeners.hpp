#pragma once
// Who listens on AF_VSOCK on this host. Asked over netlink (sock_diag(7)), which opens no vsock
// socket.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace host::machine {

struct VsockListener {
    VsockListener() = default;
    std::uint32_t cid{};  // VMADDR_CID_ANY or the host's own
    std::uint32_t port{};
};

// nullopt: the kernel cannot be asked (no vsock_diag).
std::optional<std::vector<VsockListener>> vsock_listeners();

// The pure half: one datagram of netlink messages. True when it holds the last one.
bool read_listeners(std::span<const char> datagram, std::vector<VsockListener>& into,
                    bool& refused);

}  // namespace host::machine
