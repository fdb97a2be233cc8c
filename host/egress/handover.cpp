#include "host/egress/handover.hpp"

#include "protocol/wire/json_codec.hpp"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>

#include <boost/json/serialize.hpp>

namespace host::egress {

using protocol::Failure;
using protocol::Kind;

std::string encode(const Handover& handover) {
    return boost::json::serialize(protocol::to_json(handover));
}

Result<Handover> decode_handover(std::string_view text) {
    TRY(const auto value, protocol::parse_json(text));
    return protocol::from_json<Handover>(value, protocol::UnknownMembers::refuse);
}

Result<void> send_with_fd(int socket, std::string_view text, int fd) {
    if (text.size() > handover_bytes)
        return protocol::fail(Kind::too_large, "the network policy is too long");
    iovec part{const_cast<char*>(text.data()), text.size()};  // sendmsg only reads it
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    while (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        if (errno == EINTR) continue;
        if (errno == EAGAIN) return protocol::fail(Kind::unavailable, "the proxy's socket is full");
        return protocol::fail(Failure::from_errno("handing a connection to the proxy", errno));
    }
    return {};
}

Result<std::optional<Received>> receive_with_fd(int socket) {
    Received received;
    received.text.resize(handover_bytes);
    iovec part{received.text.data(), received.text.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t size = 0;
    do {
        size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while (size < 0 && errno == EINTR);
    if (size < 0 && errno == EAGAIN) return protocol::fail(Kind::unavailable, "nothing to receive");
    if (size < 0) return protocol::fail(Failure::from_errno("receiving a connection", errno));
    if (size == 0) return std::optional<Received>();
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
        received.fd.reset(fd);
    }
    if (!received.fd || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        return protocol::fail(Kind::protocol_violation, "a handover without its connection");
    }
    received.text.resize(static_cast<std::size_t>(size));
    return std::optional<Received>(std::move(received));
}

}  // namespace host::egress
