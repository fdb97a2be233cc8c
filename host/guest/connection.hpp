#pragma once
// Connection: one Link to the agent, from its descriptor to its end. Routes what the session
// reports to the operations whose streams they are, enforces the quotas of streams that the guest
// opens, and turns every broken rule into one close. What must survive a lost connection lives in
// GuestLink.
//
// Threading: the executor's thread. Lifetime: keeps itself alive until the link has reported its
// end.

#include "host/sandbox/guest.hpp"
#include "protocol/channel/link.hpp"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/json/value.hpp>

namespace host::guest {

class Connection;
using protocol::Failure;
using protocol::Result;

// One stream of one connection. Every call on a stream or connection that is gone does nothing.
class StreamPort {
  public:
    StreamPort() = default;
    StreamPort(std::weak_ptr<Connection> connection, protocol::StreamId stream)
        : connection_(std::move(connection)), stream_(stream) {}

    bool open() const;
    // Session::send_data: how much was taken; StreamWritable follows a shortfall.
    std::size_t send_data(protocol::Channel channel, std::string_view bytes, bool last);
    void consumed(protocol::Channel channel, std::size_t bytes);
    void widen(protocol::Channel channel, std::uint32_t bytes);  // Session::widen
    void end(std::string payload);                               // streams opened by the guest
    void reset();                                                // streams opened by us
    protocol::StreamId id() const { return stream_; }

  private:
    std::weak_ptr<Connection> connection_;
    protocol::StreamId stream_{};
};

// What a stream means. A failure returned by any of these is a broken rule of the guest.
class StreamHandler {
  public:
    virtual ~StreamHandler() = default;
    virtual Result<void> on_event(std::string_view name, const boost::json::value& payload);
    virtual Result<void> on_data(protocol::Channel channel, std::string bytes, bool last);
    virtual void on_writable(protocol::Channel channel);
    // The guest abandoned a stream that it had opened; end() is due.
    virtual void on_reset();
    // The connection is gone; the stream with it.
    virtual void on_disconnected() = 0;
};

// Something asked of the guest that outlives connections: opened again on the next one until it is
// over.
class Operation : public StreamHandler {
  public:
    // Made anew for each opening, so that it can say where to go on.
    virtual std::string request() = 0;
    virtual void on_opened(StreamPort port) = 0;
    // False: not now; the operation asks GuestLink again when it is willing.
    virtual bool wants_stream() const { return true; }
    // `end` of its stream; the operation is over.
    virtual Result<void> on_end(Result<boost::json::value> answer) = 0;
    // The guest is gone for good, or was closed. Last call.
    virtual void on_abandoned(const Failure& why) = 0;

    std::uint64_t key = 0;  // order of asking; set by GuestLink
};

class ConnectionOwner {
  public:
    virtual ~ConnectionOwner() = default;
    // A failure closes the connection (unsupported, another boot id, nonsense).
    virtual Result<void> on_hello(protocol::Hello hello) = 0;
    virtual void on_notice(protocol::PowerNotice notice) = 0;
    virtual bool wants_tunnels() const = 0;
    virtual void on_tunnel(sandbox::TunnelKind kind, protocol::Tunnel request,
                           std::shared_ptr<sandbox::TunnelStream> stream) = 0;
    virtual void on_operation_over(std::uint64_t key) = 0;
    virtual void on_connection_closed(const Connection& connection, const Failure& why) = 0;
};

class Connection final : public protocol::LinkObserver,
                         public std::enable_shared_from_this<Connection> {
  public:
    static std::shared_ptr<Connection> start(boost::asio::any_io_executor executor,
                                             protocol::UniqueFd fd, std::string hello,
                                             std::weak_ptr<ConnectionOwner> owner);

    bool ready() const { return ready_ && !closing_; }
    // Opens a stream for it and calls on_opened(); resource_exhausted when there are too many.
    Result<void> open(const std::shared_ptr<Operation>& operation);
    // The handler hears nothing more of its stream; a stream of ours is reset.
    void abandon(const StreamPort& port);
    // A broken rule, or an agent that cannot be talked to: closes and tells the owner why.
    void fail(Failure why);
    // No call to the owner or a handler after this.
    void close(std::string reason);

    void on_event(protocol::SessionEvent event) override;
    void on_closed(const Failure& why) override;

  private:
    friend class StreamPort;
    struct GuestStream {
        std::shared_ptr<StreamHandler> handler;
        sandbox::TunnelKind kind{};
    };

    Connection(boost::asio::any_io_executor executor, std::weak_ptr<ConnectionOwner> owner)
        : executor_(std::move(executor)), owner_(std::move(owner)) {}

    Result<void> dispatch(protocol::PeerReady event);
    Result<void> dispatch(protocol::StreamOpened event);
    Result<void> dispatch(protocol::StreamEvent event);
    Result<void> dispatch(protocol::StreamData event);
    Result<void> dispatch(protocol::StreamWritable event);
    Result<void> dispatch(protocol::StreamEnded event);
    Result<void> dispatch(protocol::StreamReset event);
    Result<void> dispatch(protocol::PeerBye event);
    std::shared_ptr<StreamHandler> handler(protocol::StreamId stream) const;
    void refuse(protocol::StreamId stream, const Failure& why);
    void disconnect_handlers();
    // Once per batch of calls, and never from inside the link's own callback.
    void flush_soon();

    boost::asio::any_io_executor executor_;
    std::weak_ptr<ConnectionOwner> owner_;
    std::shared_ptr<protocol::Link> link_;
    std::shared_ptr<Connection> self_;  // until on_closed()
    std::map<protocol::StreamId, std::shared_ptr<Operation>> operations_;
    std::map<protocol::StreamId, GuestStream> guest_streams_;
    std::array<std::uint32_t, 2> guest_stream_count_{};  // by TunnelKind
    std::optional<Failure> failure_;                     // ours, told instead of the link's reason
    bool ready_ = false;
    bool closing_ = false;
    bool flush_posted_ = false;
};

}  // namespace host::guest
