#include "host/machine/vsock_listeners.hpp"

#include "protocol/base/unique_fd.hpp"

#include <array>
#include <cstring>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/vm_sockets_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace host::machine {
namespace {

constexpr std::uint32_t listening = TCP_LISTEN;  // vsock_diag uses TCP's numbers

struct Request {
    nlmsghdr header;
    vsock_diag_req body;
};

bool send_request(int fd) {
    Request request{};
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.body.sdiag_family = AF_VSOCK;
    request.body.vdiag_states = 1u << listening;
    return send(fd, &request, sizeof request, 0) == static_cast<ssize_t>(sizeof request);
}

}  // namespace

bool read_listeners(std::span<const char> datagram, std::vector<VsockListener>& into,
                    bool& refused) {
    while (datagram.size() >= sizeof(nlmsghdr)) {
        nlmsghdr header{};
        std::memcpy(&header, datagram.data(), sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > datagram.size()) return true;
        if (header.nlmsg_type == NLMSG_DONE) return true;
        if (header.nlmsg_type == NLMSG_ERROR) {
            refused = true;
            return true;
        }
        if (header.nlmsg_len >= NLMSG_HDRLEN + sizeof(vsock_diag_msg)) {
            vsock_diag_msg message{};
            std::memcpy(&message, datagram.data() + NLMSG_HDRLEN, sizeof message);
            if (message.vdiag_state == listening) {
                VsockListener listener;
                listener.cid = message.vdiag_src_cid;
                listener.port = message.vdiag_src_port;
                into.push_back(listener);
            }
        }
        datagram =
            datagram.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), datagram.size()));
    }
    return false;
}

std::optional<std::vector<VsockListener>> vsock_listeners() {
    const protocol::UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!fd || !send_request(fd.get())) return std::nullopt;
    const timeval patience{2, 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::vector<VsockListener> listeners;
    std::array<char, 16'384> buffer{};
    for (;;) {
        const ssize_t count = recv(fd.get(), buffer.data(), buffer.size(), 0);
        if (count <= 0) return std::nullopt;
        bool refused = false;
        const bool done =
            read_listeners({buffer.data(), static_cast<std::size_t>(count)}, listeners, refused);
        if (refused) return std::nullopt;
        if (done) return listeners;
    }
}

}  // namespace host::machine
