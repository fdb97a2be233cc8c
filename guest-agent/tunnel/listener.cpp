#include "guest-agent/tunnel/listener.hpp"

#include "guest-agent/process/account.hpp"
#include "guest-agent/tunnel/tunnel.hpp"
#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/messages.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace guest_agent {

using protocol::Failure;
using protocol::Result;
using protocol::UniqueFd;

namespace {

constexpr int backlog = 128;
constexpr int accepted_at_once = 16;

// Who is at the other end of a Unix socket; 0 and `known` = false for any other kind.
struct PeerUser {
    bool known = false;
    uid_t uid = 0;
};

PeerUser peer_user(int socket) {
    struct ucred credentials {};
    socklen_t size = sizeof credentials;
    int domain = 0;
    socklen_t domain_size = sizeof domain;
    if (::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) < 0 ||
        domain != AF_UNIX ||
        ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0) {
        return {};
    }
    return {true, credentials.uid};
}

Result<UniqueFd> open_listener(int family, const sockaddr* address, socklen_t size) {
    UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return protocol::fail(Failure::from_errno("socket", errno));
    const int on = 1;
    if (family == AF_INET) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(socket.get(), address, size) < 0) {
        return protocol::fail(Failure::from_errno("bind", errno));
    }
    return socket;
}

}  // namespace

TunnelListener::TunnelListener(boost::asio::any_io_executor executor, Streams& streams,
                               std::string operation, std::uint32_t limit)
    : executor_(executor),
      streams_(streams),
      operation_(std::move(operation)),
      limit_(limit),
      listener_(executor) {}

void TunnelListener::listen(UniqueFd listener) {
    close();
    listener_.assign(listener.release());  // owned by listener_ from here on
    wait();
}

void TunnelListener::close() {
    boost::system::error_code ignored;
    listener_.close(ignored);
    waiting_ = false;
}

void TunnelListener::wait() {
    if (waiting_ || !listener_.is_open() || !streams_.peer().ready() || *open_ >= limit_) return;
    waiting_ = true;
    listener_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code& error) {
                             if (error) return;
                             waiting_ = false;
                             accept_some();
                         });
}

void TunnelListener::accept_some() {
    for (int turn = 0; turn < accepted_at_once && *open_ < limit_; ++turn) {
        if (!streams_.peer().ready()) return;
        UniqueFd socket(
            ::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket && errno != EINTR && errno != ECONNABORTED) break;
        if (socket && !serve(std::move(socket))) break;
    }
    wait();
}

bool TunnelListener::serve(UniqueFd socket) {
    protocol::Tunnel request;
    if (const auto user = peer_user(socket.get()); user.known) {
        // The socket's mode says the same; a descriptor passed on by somebody else does not get
        // past this.
        if (!may_use_api(user.uid)) return true;
        request.peer_uid = user.uid;
    }
    const auto stream = streams_.peer().open(protocol::encode_request(operation_, request));
    if (!stream) return false;
    ++*open_;
    auto on_gone = [this, open = open_] {
        --*open;
        wait();
    };
    streams_.add(*stream, std::make_shared<Tunnel>(streams_, *stream, executor_, std::move(socket),
                                                   std::move(on_gone)));
    return true;
}

Result<UniqueFd> listen_local_tcp(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // The C interface of sockets takes every family as sockaddr.
    TRY(UniqueFd socket,
        open_listener(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    if (::listen(socket.get(), backlog) < 0) {
        return protocol::fail(Failure::from_errno("listen", errno));
    }
    return socket;
}

Result<UniqueFd> listen_unix(const std::string& path, uid_t owner) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        return protocol::fail(protocol::Kind::invalid_argument, "the socket's path is too long");
    }
    path.copy(address.sun_path, path.size());
    ::unlink(path.c_str());
    // As above.
    TRY(UniqueFd socket,
        open_listener(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    // Before listen(): nobody can connect until mode and owner are right.
    if (::chmod(path.c_str(), 0600) < 0 || ::chown(path.c_str(), owner, owner) < 0) {
        return protocol::fail(Failure::from_errno("give away " + path, errno));
    }
    if (::listen(socket.get(), backlog) < 0) {
        return protocol::fail(Failure::from_errno("listen", errno));
    }
    return socket;
}

}  // namespace guest_agent
