#include "protocol/channel/transport.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <linux/vm_sockets.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>

namespace protocol {
namespace {

// Ports only root may bind; the agent accepts no others.
constexpr std::uint32_t reserved_port_max = 1023;
constexpr int listen_backlog = 16;

// The C interface of sockets takes every family as sockaddr.
template <typename Address>
const sockaddr* as_sockaddr(const Address& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

sockaddr_vm vsock_address(std::uint32_t cid, std::uint32_t port) {
    sockaddr_vm address{};
    address.svm_family = AF_VSOCK;
    address.svm_cid = cid;
    address.svm_port = port;
    return address;
}

Result<UniqueFd> open_socket(int family) {
    UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) return fail(Failure::from_errno("socket", errno));
    return fd;
}

Result<void> bind_reserved_port(int fd) {
    for (std::uint32_t port = reserved_port_max; port > 0; --port) {
        const sockaddr_vm address = vsock_address(VMADDR_CID_ANY, port);
        if (::bind(fd, as_sockaddr(address), sizeof address) == 0) return {};
        if (errno != EADDRINUSE) {
            return fail(Failure::from_errno("bind vsock port " + std::to_string(port), errno));
        }
    }
    return fail(Kind::resource_exhausted, "no vsock port below 1024 is free");
}

// A vsock without a device binds and listens like one with, but has no address.
bool has_vsock_device() {
    const UniqueFd device(::open("/dev/vsock", O_RDONLY | O_CLOEXEC));
    if (!device) return false;
    std::uint32_t cid = VMADDR_CID_ANY;
    return ::ioctl(device.get(), IOCTL_VM_SOCKETS_GET_LOCAL_CID, &cid) == 0 &&
           cid != VMADDR_CID_ANY;
}

}  // namespace

Result<UniqueFd> connect_vsock(std::uint32_t cid, std::uint32_t port) {
    TRY(UniqueFd fd, open_socket(AF_VSOCK));
    TRY_VOID(bind_reserved_port(fd.get()));
    const sockaddr_vm address = vsock_address(cid, port);
    if (::connect(fd.get(), as_sockaddr(address), sizeof address) != 0 && errno != EINPROGRESS) {
        return fail(Failure::from_errno("connect to vsock CID " + std::to_string(cid), errno));
    }
    return fd;
}

Result<UniqueFd> connect_unix(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        return fail(Kind::invalid_argument, "socket path is too long: " + path);
    }
    path.copy(address.sun_path, path.size());
    TRY(UniqueFd fd, open_socket(AF_UNIX));
    // On a Unix socket this either succeeds at once or fails (EAGAIN: the backlog is full).
    if (::connect(fd.get(), as_sockaddr(address), sizeof address) != 0) {
        return fail(Failure::from_errno("connect to " + path, errno));
    }
    return fd;
}

Result<UniqueFd> listen_vsock(std::uint32_t port) {
    if (!has_vsock_device()) {
        return fail(Kind::unavailable, "this machine has no vsock device");
    }
    TRY(UniqueFd fd, open_socket(AF_VSOCK));
    const sockaddr_vm address = vsock_address(VMADDR_CID_ANY, port);
    if (::bind(fd.get(), as_sockaddr(address), sizeof address) != 0 ||
        ::listen(fd.get(), listen_backlog) != 0) {
        return fail(Failure::from_errno("listen on vsock port " + std::to_string(port), errno));
    }
    return fd;
}

Result<UniqueFd> accept_host_vsock(int listener) {
    sockaddr_vm peer{};
    socklen_t size = sizeof peer;
    // As above: accept4 fills any family's address through sockaddr.
    UniqueFd fd(::accept4(listener, reinterpret_cast<sockaddr*>(&peer), &size,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ECONNABORTED) {
            return fail(Kind::not_found, "no connection is waiting");
        }
        return fail(Failure::from_errno("accept on vsock", errno));
    }
    // Loopback is CID 1. Any user of the host is CID 2, but only its root has a port below 1024.
    if (peer.svm_family != AF_VSOCK || peer.svm_cid != VMADDR_CID_HOST ||
        peer.svm_port > reserved_port_max) {
        return fail(Kind::forbidden, "vsock peer CID " + std::to_string(peer.svm_cid) + " port " +
                                         std::to_string(peer.svm_port) + " is not the host's root");
    }
    return fd;
}

Result<UniqueFd> open_virtio_port(const std::string& name) {
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator("/sys/class/virtio-ports", error)) {
        std::string port_name;
        std::getline(std::ifstream(entry.path() / "name"), port_name);
        if (port_name != name) continue;
        const std::string device = "/dev/" + entry.path().filename().string();
        UniqueFd fd(::open(device.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
        if (!fd) return fail(Failure::from_errno("open " + device, errno));
        return fd;
    }
    return fail(Kind::not_found, "no virtio-serial port is named " + name);
}

}  // namespace protocol
