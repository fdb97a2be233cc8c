#include "guest-agent/service/peer.hpp"

#include <boost/asio/post.hpp>

namespace guest_agent {

using protocol::Channel;
using protocol::StreamId;

protocol::Session* Peer::session() {
    if (!link_) return nullptr;
    if (!flush_due_) {
        flush_due_ = true;
        boost::asio::post(executor_, [this] { flush(); });
    }
    return &link_->session();
}

void Peer::flush() {
    flush_due_ = false;
    if (link_) link_->flush();
}

protocol::Result<StreamId> Peer::open(std::string request) {
    auto* const to = session();
    if (to == nullptr) return protocol::fail(protocol::Kind::unavailable, "no host is connected");
    return to->open(std::move(request));
}

bool Peer::event(StreamId stream, std::string payload) {
    auto* const to = session();
    return to != nullptr && to->send_event(stream, std::move(payload));
}

std::size_t Peer::send(StreamId stream, Channel channel, std::string_view bytes, bool last) {
    auto* const to = session();
    return to == nullptr ? 0 : to->send_data(stream, channel, bytes, last);
}

std::size_t Peer::sendable(StreamId stream, Channel channel) const {
    return link_ ? link_->session().sendable(stream, channel) : 0;
}

protocol::Link* Peer::page_link() const {
    return link_ && link_->carries_pages() ? link_.get() : nullptr;
}

void Peer::await_credit(StreamId stream, Channel channel) {
    if (auto* const to = session()) to->await_credit(stream, channel);
}

void Peer::widen(StreamId stream, Channel channel, std::uint32_t bytes) {
    if (auto* const to = session()) to->widen(stream, channel, bytes);
}

void Peer::consumed(StreamId stream, Channel channel, std::size_t bytes) {
    if (auto* const to = session()) to->consumed(stream, channel, bytes);
}

void Peer::end(StreamId stream, std::string payload) {
    if (auto* const to = session()) to->end(stream, std::move(payload));
}

void Peer::reset(StreamId stream) {
    if (auto* const to = session()) to->reset(stream);
}

}  // namespace guest_agent
