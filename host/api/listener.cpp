#include "host/api/listener.hpp"

#include "host/api/socket_stream.hpp"

#include <cerrno>
#include <cstring>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>

namespace host::api {

namespace asio = boost::asio;
using protocol::fail;
using protocol::Failure;
using protocol::Kind;
using protocol::Result;
using protocol::UniqueFd;

namespace {

Result<UniqueFd> open_socket(int family) {
    UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return fail(Failure::from_errno("socket", errno));
    return fd;
}

Result<void> bind_and_listen(int fd, const sockaddr* address, socklen_t size,
                             const std::string& name) {
    if (::bind(fd, address, size) != 0)
        return fail(Failure::from_errno("cannot listen on " + name, errno));
    if (::listen(fd, 128) != 0) return fail(Failure::from_errno("cannot listen on " + name, errno));
    return {};
}

// Makes the path free: removes a socket that a dead daemon has left.
Result<void> clear_path(const std::string& path, const sockaddr_un& address) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) {
        if (errno == ENOENT) return {};
        return fail(Failure::from_errno("cannot look at " + path, errno));
    }
    if (!S_ISSOCK(info.st_mode)) return fail(Kind::conflict, path + " exists and is not a socket");
    TRY(const UniqueFd probe, open_socket(AF_UNIX));
    const int answer =
        ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    // EAGAIN: somebody listens and its queue is full.
    if (answer == 0 || errno == EAGAIN)
        return fail(Kind::conflict, "another daemon answers on " + path);
    if (errno != ECONNREFUSED) return fail(Failure::from_errno("cannot probe " + path, errno));
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
        return fail(Failure::from_errno("cannot remove the stale socket " + path, errno));
    }
    return {};
}

// The group's id, or root's where there is no such group.
gid_t group_id(const std::string& name) {
    std::vector<char> buffer(16u << 10);
    group entry{};
    group* found = nullptr;
    if (::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
        return 0;
    return found->gr_gid;
}

// Names resolve to what a resolver says today; a listener's address shall be what was written.
Result<asio::ip::tcp::endpoint> parse_endpoint(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    boost::system::error_code error;
    if (colon != std::string::npos && colon > 0) {
        std::string host = text.substr(0, colon);
        if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
        const std::string digits = text.substr(colon + 1);
        const bool numeric = !digits.empty() && digits.size() <= 5 &&
                             digits.find_first_not_of("0123456789") == std::string::npos;
        const auto address = asio::ip::make_address(host, error);
        if (!error && numeric && std::stoul(digits) <= 65'535) {
            return asio::ip::tcp::endpoint(address, static_cast<std::uint16_t>(std::stoul(digits)));
        }
    }
    return fail(Kind::invalid_argument,
                "cannot listen on \"" + text + "\": write ADDRESS:PORT, such as 127.0.0.1:7070");
}

}  // namespace

Listener::Listener(const asio::any_io_executor& loop, UniqueFd fd, int family)
    : loop_(loop), descriptor_(loop, fd.release()), family_(family) {}

Listener::~Listener() {
    close();
}

Result<std::unique_ptr<Listener>> Listener::unix_socket(const asio::any_io_executor& loop,
                                                        const std::string& path,
                                                        const std::string& group) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path) {
        return fail(Kind::invalid_argument,
                    "the socket path \"" + path + "\" is empty or too long");
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    TRY_VOID(clear_path(path, address));
    TRY(UniqueFd fd, open_socket(AF_UNIX));
    // From its first moment nobody else may open it; there is one thread yet that makes files.
    const mode_t before = ::umask(0177);
    const auto listening = bind_and_listen(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                                           sizeof address, path);
    ::umask(before);
    if (!listening) return fail(listening.error());
    if (::chown(path.c_str(), static_cast<uid_t>(-1), group_id(group)) != 0 && ::geteuid() == 0) {
        return fail(Failure::from_errno("cannot set the group of " + path, errno));
    }
    if (::chmod(path.c_str(), 0660) != 0)
        return fail(Failure::from_errno("cannot set the mode of " + path, errno));
    std::unique_ptr<Listener> listener(new Listener(loop, std::move(fd), AF_UNIX));
    struct stat info {};
    if (::lstat(path.c_str(), &info) == 0) listener->inode_ = info.st_ino;
    listener->path_ = path;
    return listener;
}

Result<std::unique_ptr<Listener>> Listener::tcp(const asio::any_io_executor& loop,
                                                const std::string& text) {
    TRY(auto endpoint, parse_endpoint(text));
    TRY(UniqueFd fd, open_socket(endpoint.protocol().family()));
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    TRY_VOID(
        bind_and_listen(fd.get(), endpoint.data(), static_cast<socklen_t>(endpoint.size()), text));
    socklen_t size = static_cast<socklen_t>(endpoint.capacity());
    if (::getsockname(fd.get(), endpoint.data(), &size) != 0)
        return fail(Failure::from_errno("getsockname", errno));
    std::unique_ptr<Listener> listener(
        new Listener(loop, std::move(fd), endpoint.protocol().family()));
    listener->port_ = endpoint.port();
    return listener;
}

asio::awaitable<void> Listener::accept_loop(Accepted accepted) {
    asio::steady_timer pause(loop_);
    while (!closed_) {
        const auto [error] = co_await descriptor_.async_wait(
            asio::posix::stream_descriptor::wait_read, asio::as_tuple(asio::use_awaitable));
        if (error || closed_) co_return;
        if (accept_all(accepted)) continue;
        pause.expires_after(std::chrono::milliseconds(200));
        [[maybe_unused]] const auto [ignored] =
            co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

bool Listener::accept_all(const Accepted& accepted) {
    while (true) {
        UniqueFd fd(
            ::accept4(descriptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!fd) {
            if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
            if (errno == EINTR || errno == ECONNABORTED) continue;
            spdlog::warn("cannot accept a connection error={}", std::strerror(errno));
            return false;
        }
        if (family_ != AF_UNIX) {
            const int on = 1;
            ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        }
        auto stream = SocketStream::adopt(loop_, std::move(fd), family_);
        if (stream) accepted(std::move(*stream));
    }
}

void Listener::close() {
    if (closed_) return;
    closed_ = true;
    boost::system::error_code ignored;
    descriptor_.close(ignored);
    struct stat info {};
    if (!path_.empty() && ::lstat(path_.c_str(), &info) == 0 && info.st_ino == inode_)
        ::unlink(path_.c_str());
}

}  // namespace host::api
