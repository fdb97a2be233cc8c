#include "guest-agent/tunnel/tunnel.hpp"

#include "protocol/wire/limits.hpp"

#include <array>
#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace guest_agent {

using boost::asio::posix::stream_descriptor;
using protocol::Channel;

Tunnel::Tunnel(Streams& streams, protocol::StreamId id, boost::asio::any_io_executor executor,
               protocol::UniqueFd socket, std::function<void()> on_gone)
    : StreamHandler(streams, id),
      socket_(executor, socket.release()),
      on_gone_(std::move(on_gone)) {}

Tunnel::~Tunnel() {
    if (on_gone_) on_gone_();
}

void Tunnel::start() {
    wait_readable();
}

// Pending waits hold the tunnel weakly: it goes with its stream, and closing the socket ends them.
void Tunnel::wait_readable() {
    if (waiting_readable_ || !reading_ || !socket_.is_open()) return;
    waiting_readable_ = true;
    socket_.async_wait(stream_descriptor::wait_read,
                       [weak = weak_from_this(), this](const boost::system::error_code& error) {
                           const auto self = weak.lock();
                           if (!self || error) return;
                           waiting_readable_ = false;
                           if (!finished()) read_some();
                       });
}

void Tunnel::read_some() {
    std::array<char, protocol::limits::data_payload_bytes> piece;
    const ssize_t count = ::read(socket_.native_handle(), piece.data(), piece.size());
    if (count < 0) {
        if (errno == EAGAIN || errno == EINTR) return wait_readable();
        return close();
    }
    if (count == 0) {
        reading_ = false;
        send(Channel::input, {}, true);
        return;
    }
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(count));
    const std::size_t taken = send(Channel::input, bytes, false);
    unsent_ = bytes.substr(taken);
    if (unsent_.empty()) wait_readable();
}

void Tunnel::on_writable(Channel) {
    if (unsent_.empty()) return;
    unsent_.erase(0, send(Channel::input, unsent_, false));
    if (unsent_.empty()) wait_readable();
}

void Tunnel::on_data(Channel channel, std::string_view bytes, bool last) {
    if (channel != Channel::output) return consumed(channel, bytes.size());
    unwritten_.append(bytes);  // at most a credit window: credit goes back as it is written
    host_done_ = host_done_ || last;
    write_some();
}

void Tunnel::write_some() {
    if (waiting_writable_ || !socket_.is_open()) return;
    std::size_t written = 0;
    while (written < unwritten_.size()) {
        const ssize_t count = ::send(socket_.native_handle(), unwritten_.data() + written,
                                     unwritten_.size() - written, MSG_NOSIGNAL);
        if (count > 0) {
            written += static_cast<std::size_t>(count);
        } else if (errno == EAGAIN) {
            wait_writable();
            break;
        } else if (errno != EINTR) {
            return close();
        }
    }
    unwritten_.erase(0, written);
    consumed(Channel::output, written);
    if (!unwritten_.empty()) return;
    if (ended_) return close();
    if (std::exchange(host_done_, false)) ::shutdown(socket_.native_handle(), SHUT_WR);
}

void Tunnel::wait_writable() {
    waiting_writable_ = true;
    socket_.async_wait(stream_descriptor::wait_write,
                       [weak = weak_from_this(), this](const boost::system::error_code& error) {
                           const auto self = weak.lock();
                           if (!self || error) return;
                           waiting_writable_ = false;
                           write_some();
                       });
}

void Tunnel::on_end() {
    ended_ = true;
    write_some();
}

void Tunnel::close() {
    boost::system::error_code ignored;
    socket_.close(ignored);
    if (ended_) {
        drop();
    } else {
        abandon();
    }
}

}  // namespace guest_agent
