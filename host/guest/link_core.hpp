#pragma once
// LinkCore: keeps one run's agent connected and carries operations over lost connections. Knows
// when to dial, when to wait and when to give up; what is asked of the guest is none of its
// business (guest_link.cpp).
//
// Threading: the executor's thread.

#include "host/guest/connection.hpp"
#include "host/guest/guest_link.hpp"
#include "host/guest/wakeup.hpp"
#include "host/sandbox/guest.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace host::guest {

class LinkCore final : public ConnectionOwner, public std::enable_shared_from_this<LinkCore> {
  public:
    LinkCore(boost::asio::any_io_executor executor, const protocol::RunId& run,
             sandbox::GuestAddress address, sandbox::GuestCallbacks callbacks, Patience patience);

    const boost::asio::any_io_executor& executor() const { return executor_; }
    const sandbox::GuestCallbacks& callbacks() const { return callbacks_; }
    // The largest that both sides allow, in bytes.
    std::uint32_t follow_window() const;

    sandbox::Async<protocol::Hello> connect(sandbox::Deadline deadline,
                                            std::string expected_boot_id);
    // Opens it now or on the next connection; abandoned at once when the guest is gone.
    void add(const std::shared_ptr<Operation>& operation);
    // Again, for an operation that did not want a stream before.
    void reopen(std::uint64_t key);
    // Nobody is interested any more: resets its stream, without a further call to it.
    void drop(std::uint64_t key, StreamPort port);
    // An answer that no honest agent gives, found by whoever asked.
    void on_violation(const Failure& why);
    void expect_silence(bool expected);
    void close();

    Result<void> on_hello(protocol::Hello hello) override;
    void on_notice(protocol::PowerNotice notice) override;
    bool wants_tunnels() const override { return !closed_ && callbacks_.tunnel; }
    void on_tunnel(sandbox::TunnelKind kind, protocol::Tunnel request,
                   std::shared_ptr<sandbox::TunnelStream> stream) override;
    void on_operation_over(std::uint64_t key) override;
    void on_connection_closed(const Connection& connection, const Failure& why) override;

  private:
    using TimePoint = std::chrono::steady_clock::time_point;

    boost::asio::awaitable<void> maintain();
    sandbox::Async<protocol::UniqueFd> dial();
    boost::asio::awaitable<void> pause();
    TimePoint give_up_at() const;
    void give_up_unreachable();
    void next_pause();
    void open(const std::shared_ptr<Operation>& operation);
    void give_up(Failure why);
    void end_all(const Failure& why);

    boost::asio::any_io_executor executor_;
    protocol::RunId run_;
    sandbox::GuestAddress address_;
    sandbox::GuestCallbacks callbacks_;
    Patience patience_;

    Wakeup changed_;    // what maintain() waits for
    Wakeup connected_;  // what connect() waits for
    std::shared_ptr<Connection> connection_;
    std::optional<boost::asio::posix::stream_descriptor> dialing_;
    std::map<std::uint64_t, std::shared_ptr<Operation>> operations_;
    std::uint64_t next_key_ = 1;

    std::optional<protocol::Hello> hello_;     // of the first connection
    std::string boot_id_;                      // "" until known
    TimePoint give_up_at_ = TimePoint::max();  // while there is no ready connection
    TimePoint ready_since_{};
    std::chrono::milliseconds pause_{0};  // before the next attempt
    int violations_ = 0;
    std::string last_trouble_;     // why the latest attempt failed
    std::optional<Failure> gone_;  // no more connections; every operation ends with this
    bool connect_called_ = false;
    bool was_ready_ = false;  // the current connection
    bool silence_expected_ = false;
    bool closed_ = false;  // by our owner: no callbacks
};

}  // namespace host::guest
