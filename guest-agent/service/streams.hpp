#pragma once
// Streams: what serves each open stream of the present connection. StreamHandler: one of them.
// Streams go when they have ended, or all at once with the connection; what must last lives in the
// objects they serve. Threading: the loop thread.

#include "guest-agent/service/peer.hpp"
#include "protocol/session/session.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>

namespace guest_agent {

class Streams;

class StreamHandler : public std::enable_shared_from_this<StreamHandler> {
  public:
    StreamHandler(Streams& streams, protocol::StreamId id) : streams_(streams), id_(id) {}
    virtual ~StreamHandler() = default;
    StreamHandler(const StreamHandler&) = delete;
    StreamHandler& operator=(const StreamHandler&) = delete;

    // Called once, after it can be found by its id.
    virtual void start() {}
    virtual void on_data(protocol::Channel channel, std::string_view bytes, bool last);
    virtual void on_writable(protocol::Channel) {}
    // The host gave the stream up; the default answers at once.
    virtual void on_reset();
    // The host finished a stream that was opened here.
    virtual void on_end() {}
    // The connection is gone, this object follows.
    virtual void on_lost() {}

    // Sends `end` (or reset, for a stream opened here) and lets go of this object. Once.
    void finish(std::string payload);
    bool finished() const { return finished_; }

  protected:
    bool event(std::string payload);
    std::size_t send(protocol::Channel channel, std::string_view bytes, bool last);
    std::size_t sendable(protocol::Channel channel) const;
    void await_credit(protocol::Channel channel);                // Session::await_credit
    void widen(protocol::Channel channel, std::uint32_t bytes);  // Session::widen
    protocol::StreamId id() const { return id_; }
    protocol::Link* page_link() const;
    void consumed(protocol::Channel channel, std::size_t bytes);
    // For streams opened here: give the stream up; `end` is no longer of interest.
    void abandon();
    // For streams opened here, after on_end(): just let go of this object.
    void drop();

  private:
    Streams& streams_;
    protocol::StreamId id_;
    bool finished_ = false;
};

class Streams {
  public:
    Streams(boost::asio::any_io_executor executor, Peer& peer)
        : executor_(std::move(executor)), peer_(peer) {}

    Peer& peer() { return peer_; }
    void add(protocol::StreamId id, std::shared_ptr<StreamHandler> handler);
    void remove(protocol::StreamId id);
    void lose_all();
    // Passes stream events on; data of streams that nobody serves is credited at once.
    void on_data(const protocol::StreamData& data);
    void on_writable(const protocol::StreamWritable& writable);
    void on_reset(const protocol::StreamReset& reset);
    void on_end(const protocol::StreamEnded& ended);

  private:
    std::shared_ptr<StreamHandler> find(protocol::StreamId id) const;

    boost::asio::any_io_executor executor_;
    Peer& peer_;
    std::map<protocol::StreamId, std::shared_ptr<StreamHandler>> handlers_;
};

}  // namespace guest_agent
