#include "sdk/cpp/socket_stream.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/error.hpp>

namespace sdk {
namespace {

using protocol::fail;
using protocol::Failure;
using protocol::Kind;
using protocol::UniqueFd;

constexpr int connect_limit_ms = 10'000;

Failure unreachable(const Endpoint& endpoint, int error) {
    return Failure::with_code(
        Kind::unavailable, "unreachable",
        "nobody answers at " + endpoint.url + " (" + std::strerror(error) + ")");
}

void set_non_blocking(int fd) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

Result<UniqueFd> connect_unix(const Endpoint& endpoint) {
    // Connected while blocking: with a full backlog a non-blocking connect(2) gives up at once.
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) return fail(Failure::from_errno("socket", errno));
    const timeval limit{connect_limit_ms / 1000, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(endpoint.path.begin(), endpoint.path.end(), address.sun_path);
    while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        if (errno != EINTR) return fail(unreachable(endpoint, errno));
    }
    set_non_blocking(fd.get());
    return fd;
}

int finish_connect(int fd, const Interrupt* interrupt) {
    std::array<pollfd, 2> waiting{
        {{fd, POLLOUT, 0}, {interrupt ? interrupt->fd() : -1, POLLIN, 0}}};
    int ready = 0;
    do {
        ready = ::poll(waiting.data(), waiting.size(), connect_limit_ms);
    } while (ready < 0 && errno == EINTR && interrupt == nullptr);
    if (ready == 0) return ETIMEDOUT;
    if (ready < 0 || waiting[1].revents != 0) return EINTR;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

Result<UniqueFd> connect_tcp(const Endpoint& endpoint, const Interrupt* interrupt) {
    auto addresses = resolve(endpoint.host);
    if (!addresses) {
        return fail(Failure::with_code(
            Kind::unavailable, "unreachable",
            "cannot reach " + endpoint.url + ": " + addresses.error().message()));
    }
    int error = EADDRNOTAVAIL;
    for (const std::string& text : *addresses) {
        sockaddr_storage storage{};
        socklen_t size = 0;
        auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
        auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
        if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
            v4->sin_family = AF_INET;
            v4->sin_port = htons(endpoint.port);
            size = sizeof *v4;
        } else if (::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
            v6->sin6_family = AF_INET6;
            v6->sin6_port = htons(endpoint.port);
            size = sizeof *v6;
        } else {
            continue;
        }
        UniqueFd fd(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!fd) {
            error = errno;
            continue;
        }
        const int on = 1;
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ::setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        error = 0;
        if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), size) != 0) {
            error = errno == EINPROGRESS ? finish_connect(fd.get(), interrupt) : errno;
        }
        if (error == 0) return fd;
        if (error == EINTR) {
            return fail(Failure::with_code(Kind::unavailable, interrupted_code, "interrupted"));
        }
    }
    return fail(unreachable(endpoint, error));
}

}  // namespace

Result<SocketStream> SocketStream::connect(const Endpoint& endpoint, const Interrupt* interrupt) {
    auto fd = endpoint.family == Endpoint::Family::unix_socket ? connect_unix(endpoint)
                                                               : connect_tcp(endpoint, interrupt);
    if (!fd) return fail(std::move(fd).error());
    SocketStream stream(std::move(*fd));
    stream.set_interrupt(interrupt);
    return stream;
}

bool SocketStream::is_stale() const {
    pollfd state{fd_.get(), POLLIN, 0};
    return ::poll(&state, 1, 0) != 0;
}

bool SocketStream::wait_for(short events, error_code& error) const {
    std::array<pollfd, 2> waiting{
        {{fd_.get(), events, 0}, {interrupt_ ? interrupt_->fd() : -1, POLLIN, 0}}};
    using namespace std::chrono;
    const auto deadline = steady_clock::now() + silence_limit_;
    for (;;) {
        int limit = -1;
        if (silence_limit_.count() > 0) {
            const auto left = ceil<milliseconds>(deadline - steady_clock::now()).count();
            limit = static_cast<int>(std::clamp<long long>(left, 0, 86'400'000));
        }
        const int ready = ::poll(waiting.data(), waiting.size(), limit);
        if (ready < 0 && errno == EINTR) continue;
        // The interrupt is looked at first: a busy stream must not hide it.
        if (waiting[1].revents != 0) {
            error = boost::asio::error::operation_aborted;
        } else if (ready == 0) {
            error = boost::asio::error::timed_out;
        } else if (ready < 0) {
            error.assign(errno, boost::system::system_category());
        } else {
            return true;
        }
        return false;
    }
}

std::size_t SocketStream::receive(void* data, std::size_t size, error_code& error) {
    error = {};
    for (;;) {
        if (!wait_for(POLLIN, error)) return 0;
        const ssize_t count = ::recv(fd_.get(), data, size, 0);
        if (count > 0) return static_cast<std::size_t>(count);
        if (count == 0) {
            error = boost::asio::error::eof;
            return 0;
        }
        if (errno == EINTR || errno == EAGAIN) continue;
        error.assign(errno, boost::system::system_category());
        return 0;
    }
}

std::size_t SocketStream::send(const void* data, std::size_t size, error_code& error) {
    error = {};
    for (;;) {
        const ssize_t count = ::send(fd_.get(), data, size, MSG_NOSIGNAL);
        if (count >= 0) return static_cast<std::size_t>(count);
        if (errno == EINTR) continue;
        if (errno != EAGAIN) {
            error.assign(errno, boost::system::system_category());
            return 0;
        }
        if (!wait_for(POLLOUT, error)) return 0;
    }
}

}  // namespace sdk
