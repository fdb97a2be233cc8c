#pragma once
// Peer: the host as the rest of the agent sees it. There may be none, or a new one at any time;
// calls while there is none do nothing. Collects what one turn of the loop has to say and flushes
// it once. Threading: the loop thread.

#include "protocol/channel/link.hpp"
#include "protocol/session/session.hpp"

#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>

namespace guest_agent {

class Peer {
  public:
    explicit Peer(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

    void connect(std::shared_ptr<protocol::Link> link) { link_ = std::move(link); }
    void disconnect() { link_.reset(); }
    bool ready() const { return link_ && link_->session().ready(); }

    protocol::Result<protocol::StreamId> open(std::string request);
    bool event(protocol::StreamId stream, std::string payload);
    std::size_t send(protocol::StreamId stream, protocol::Channel channel, std::string_view bytes,
                     bool last);
    std::size_t sendable(protocol::StreamId stream, protocol::Channel channel) const;
    void await_credit(protocol::StreamId stream, protocol::Channel channel);
    void widen(protocol::StreamId stream, protocol::Channel channel, std::uint32_t bytes);
    void consumed(protocol::StreamId stream, protocol::Channel channel, std::size_t bytes);
    void end(protocol::StreamId stream, std::string payload);
    void reset(protocol::StreamId stream);
    // The connection, if it carries pages (Link::load).
    protocol::Link* page_link() const;
    // Now, for what must leave before the machine does.
    void flush();

  private:
    protocol::Session* session();

    boost::asio::any_io_executor executor_;
    std::shared_ptr<protocol::Link> link_;
    bool flush_due_ = false;
};

}  // namespace guest_agent
