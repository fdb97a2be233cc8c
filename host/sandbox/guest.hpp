#pragma once
// Guest: one run's agent, seen from the daemon. Implemented over the host link by host/guest, by a
// fake in unit tests. Keeps itself connected: reconnects after a lost link, resumes commands by
// sending command.start again with the same id. Everything it returns was checked and bounded, and
// is still hostile text.
//
// Threading: the loop thread only. Every pending call ends with `unavailable` once close() was
// called or the agent is lost for good.

#include "host/sandbox/hypervisor.hpp"
#include "protocol/base/result.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/messages.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>

namespace host::sandbox {

template <typename T>
using Async = boost::asio::awaitable<Result<T>>;
using Deadline = std::chrono::steady_clock::time_point;

// Live output of one command. read() ends with nullopt after both channels were half-closed.
class Follower {
  public:
    struct Chunk {
        Chunk() = default;
        enum class What : std::uint8_t { bytes, gap, exited, end_of_channel } what{};
        protocol::Channel channel{};
        std::uint64_t offset = 0;  // of the first byte (bytes), or start of the gap
        std::uint64_t gap_end = 0;
        std::string bytes;
    };
    virtual ~Follower() = default;
    virtual Async<std::optional<Chunk>> read() = 0;
    virtual void close() = 0;
};

// Standard input of one command. write() returns when the bytes were handed to the link's window.
class InputSink {
  public:
    virtual ~InputSink() = default;
    virtual Async<void> write(std::string bytes) = 0;
    virtual Async<void> close() = 0;  // end-of-file
};

// A connection opened by the guest (the `mt` inside, or egress): raw bytes both ways.
class TunnelStream {
  public:
    virtual ~TunnelStream() = default;
    virtual Async<std::string> read() = 0;  // "" = end of file
    virtual Async<void> write(std::string bytes) = 0;
    virtual void shutdown_write() = 0;
    virtual void close() = 0;
};
enum class TunnelKind : std::uint8_t { api, egress };

struct GuestCallbacks {
    // The agent cannot be reached for defaults::link_lost_limit, or answers with another boot id,
    // or keeps breaking the protocol. At most once.
    std::function<void(protocol::Failure)> lost;
    // Power-off, reboot, halt asked for inside, or the agent reached the deadline.
    std::function<void(protocol::PowerNotice)> power;
    // Late output of an ended command: a newer report (windows and lengths only count).
    std::function<void(protocol::CommandReport)> late_report;
    // May be empty: then such streams are refused.
    std::function<void(TunnelKind, protocol::Tunnel, std::shared_ptr<TunnelStream>)> tunnel;
};

class Guest {
  public:
    virtual ~Guest() = default;
    // Connects, retrying until `deadline`, and returns the agent's hello. After this it reconnects
    // by itself. `expected_boot_id` (adoption after a daemon restart): any other id is `lost`.
    virtual Async<protocol::Hello> connect(Deadline deadline, std::string expected_boot_id) = 0;
    virtual Async<void> configure(protocol::MachineConfigure request) = 0;
    virtual Async<void> set_clock(std::int64_t unix_ns) = 0;
    virtual Async<void> mount(protocol::Mount request) = 0;
    virtual Async<void> write_secret(std::string name, std::string bytes) = 0;
    // Starts (or attaches to) the command and returns when it is over; `started` is called once
    // when it runs. Its result stays in the agent until forget().
    virtual Async<protocol::CommandReport> run(protocol::CommandStart request,
                                               std::function<void()> started) = 0;
    virtual Async<protocol::CommandReport> state(std::string command_id) = 0;
    virtual Async<void> forget(std::string command_id) = 0;
    virtual Async<void> signal(protocol::CommandSignal request) = 0;
    virtual Async<void> resize(protocol::CommandResize request) = 0;
    virtual std::shared_ptr<Follower> follow(protocol::CommandFollow request) = 0;
    virtual std::shared_ptr<InputSink> input(protocol::CommandInput request) = 0;
    // While silence is expected, the machine standing still, the agent is never lost by it.
    virtual void expect_silence(bool expected) = 0;
    // Stop commands, sync, unmount. `timed_out` when the agent did not manage within the limit.
    virtual Async<void> settle(std::chrono::milliseconds limit) = 0;
    // Round trip of a ping, for `mt doctor` and benchmarks.
    virtual Async<std::chrono::nanoseconds> ping() = 0;
    virtual void close() = 0;
};

// How to reach a machine's agent.
struct GuestAddress {
    GuestAddress() = default;
    Transport transport{};
    std::uint32_t cid = 0;
    HostPath serial_socket;
};
using GuestFactory = std::function<std::shared_ptr<Guest>(
    const RunId& run, const GuestAddress& address, GuestCallbacks callbacks)>;

}  // namespace host::sandbox
