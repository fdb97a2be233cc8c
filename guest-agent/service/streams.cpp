#include "guest-agent/service/streams.hpp"

#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/messages.hpp"

#include <utility>

#include <boost/asio/post.hpp>

namespace guest_agent {

using protocol::Channel;
using protocol::StreamId;

// ---- StreamHandler ------------------------------------------------------------------------------

void StreamHandler::on_data(Channel channel, std::string_view bytes, bool) {
    consumed(channel, bytes.size());
}

void StreamHandler::on_reset() {
    finish(protocol::encode_end(protocol::Done()));
}

void StreamHandler::finish(std::string payload) {
    if (std::exchange(finished_, true)) return;
    streams_.peer().end(id_, std::move(payload));
    streams_.remove(id_);
}

bool StreamHandler::event(std::string payload) {
    return streams_.peer().event(id_, std::move(payload));
}

std::size_t StreamHandler::send(Channel channel, std::string_view bytes, bool last) {
    return streams_.peer().send(id_, channel, bytes, last);
}

std::size_t StreamHandler::sendable(Channel channel) const {
    return streams_.peer().sendable(id_, channel);
}

protocol::Link* StreamHandler::page_link() const {
    return streams_.peer().page_link();
}

void StreamHandler::await_credit(Channel channel) {
    streams_.peer().await_credit(id_, channel);
}

void StreamHandler::widen(Channel channel, std::uint32_t bytes) {
    streams_.peer().widen(id_, channel, bytes);
}

void StreamHandler::consumed(Channel channel, std::size_t bytes) {
    if (bytes > 0) streams_.peer().consumed(id_, channel, bytes);
}

void StreamHandler::abandon() {
    if (std::exchange(finished_, true)) return;
    streams_.peer().reset(id_);
    streams_.remove(id_);
}

void StreamHandler::drop() {
    if (std::exchange(finished_, true)) return;
    streams_.remove(id_);
}

// ---- Streams ------------------------------------------------------------------------------------

void Streams::add(StreamId id, std::shared_ptr<StreamHandler> handler) {
    handlers_[id] = handler;
    handler->start();
}

void Streams::remove(StreamId id) {
    auto removed = handlers_.extract(id);
    if (removed.empty()) return;
    // Destroyed from the loop: the handler itself may be what is calling.
    boost::asio::post(executor_, [handler = std::move(removed.mapped())] {});
}

void Streams::lose_all() {
    const auto lost = std::exchange(handlers_, {});
    for (const auto& [id, handler] : lost) handler->on_lost();
}

std::shared_ptr<StreamHandler> Streams::find(StreamId id) const {
    const auto found = handlers_.find(id);
    return found == handlers_.end() ? nullptr : found->second;
}

void Streams::on_data(const protocol::StreamData& data) {
    if (const auto handler = find(data.stream)) {
        handler->on_data(data.channel, data.bytes, data.last);
    } else if (!data.bytes.empty()) {
        peer_.consumed(data.stream, data.channel, data.bytes.size());
    }
}

void Streams::on_writable(const protocol::StreamWritable& writable) {
    if (const auto handler = find(writable.stream)) handler->on_writable(writable.channel);
}

void Streams::on_reset(const protocol::StreamReset& reset) {
    if (const auto handler = find(reset.stream)) handler->on_reset();
}

void Streams::on_end(const protocol::StreamEnded& ended) {
    if (const auto handler = find(ended.stream)) handler->on_end();
}

}  // namespace guest_agent
