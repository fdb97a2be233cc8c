#include "guest-agent/transport/link_server.hpp"

#include "guest-agent/system/console.hpp"
#include "protocol/base/name.hpp"
#include "protocol/channel/transport.hpp"
#include "protocol/wire/limits.hpp"

namespace guest_agent {

using protocol::EndOfFile;
using protocol::Failure;
using protocol::Result;
using protocol::UniqueFd;

LinkServer::LinkServer(boost::asio::any_io_executor executor, Service& service, std::string hello)
    : executor_(executor),
      service_(service),
      hello_(std::move(hello)),
      listener_(executor),
      retry_(executor) {}

Result<void> LinkServer::serve_vsock() {
    TRY(UniqueFd listener, protocol::listen_vsock(protocol::limits::vsock_port));
    listener_.assign(listener.release());  // owned by listener_ from here on
    wait_for_connection();
    return {};
}

Result<void> LinkServer::serve_serial() {
    TRY(UniqueFd port, protocol::open_virtio_port(protocol::limits::serial_port_name));
    serial_ = true;
    serve_connected(std::move(port), EndOfFile::polls);
    return {};
}

void LinkServer::serve_connected(UniqueFd fd, EndOfFile end_of_file) {
    if (link_) {
        // The old link must not report its end: that would be taken for the new one's.
        link_->session().bye("a newer connection took over");
        link_->flush();
        link_->detach();
    }
    link_ = protocol::Link::make(executor_, std::move(fd), protocol::Role::guest, hello_,
                                 end_of_file, *this);
    service_.on_link(link_);
    link_->start();
}

void LinkServer::wait_for_connection() {
    listener_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code& error) {
                             if (error) return;
                             accept_all();
                             wait_for_connection();
                         });
}

void LinkServer::accept_all() {
    while (true) {
        auto connection = protocol::accept_host_vsock(listener_.native_handle());
        if (connection) {
            serve_connected(std::move(*connection), EndOfFile::closes);
        } else if (connection.error().kind() == protocol::Kind::forbidden) {
            say(connection.error().describe());
        } else {
            return;
        }
    }
}

void LinkServer::on_event(protocol::SessionEvent event) {
    service_.on_event(std::move(event));
}

void LinkServer::on_closed(const Failure& why) {
    say("host link closed: " + protocol::escape_foreign(why.describe()));
    link_.reset();
    service_.on_link_lost();
    if (serial_) reopen_serial_later();
}

void LinkServer::reopen_serial_later() {
    retry_.expires_after(protocol::limits::connect_retry);
    retry_.async_wait([this](const boost::system::error_code& error) {
        if (error) return;
        if (!serve_serial()) reopen_serial_later();
    });
}

}  // namespace guest_agent
