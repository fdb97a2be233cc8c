#pragma once
// Output: one captured output of a command. Reads the pipe (or terminal) into the window that
// becomes part of the result, and keeps the latest raw bytes for live followers. Reads at full
// speed unless a lossless listener is behind: then the pipe fills and the command waits, for at
// most limits::lossless_hold without progress.
//
// Threading: the loop thread. Lifetime: shared; pending reads keep it alive until close().

#include "protocol/base/unique_fd.hpp"
#include "protocol/text/output_window.hpp"
#include "protocol/wire/limits.hpp"
#include "protocol/wire/messages.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace guest_agent {

class Output : public std::enable_shared_from_this<Output> {
  public:
    class Listener {
      public:
        virtual ~Listener() = default;
        // More bytes, or the end.
        virtual void on_output() = 0;
        // First byte that may still be wanted, at most window() before the next one to send: what
        // was sent into a link that breaks is asked for again. nullopt: may lose any.
        virtual std::optional<std::uint64_t> held_from() const = 0;
        // The credit window; the same at all times.
        virtual std::size_t window() const { return protocol::limits::window_bytes; }

        // ---- as pages, straight from the pipe; asked of the only listener ----
        // How many of the pipe's next bytes it would take now. 0: it reads them from raw().
        virtual std::size_t loadable() { return 0; }
        // Takes them (tee(2)); then the output reads them itself. False: not all of them.
        virtual bool load(int /*pipe*/, std::size_t /*bytes*/) { return false; }
        // The end of the turn. `whole`: what was loaded is what was read; otherwise it is void.
        virtual void send_loaded(bool /*whole*/) {}
        // It has all there is, and wants the next bytes as pages once it has credit for them.
        virtual bool waits_for_credit() { return false; }
    };

    explicit Output(boost::asio::any_io_executor executor);

    // `on_end` is called once, when no more bytes can come.
    void start(protocol::UniqueFd fd, std::function<void()> on_end);
    // A line of the agent itself, before start() or instead of it.
    void append(std::string_view text);
    // After the command's own process was reaped: reads what the pipe holds now, held back or not.
    void read_rest();
    // Ends the output now; on_end is called unless it was before.
    void close();

    bool ended() const { return ended_; }
    const protocol::ByteRing& raw() const { return window_.raw(); }
    protocol::OutputReport report() const;

    void add(Listener& listener);
    void remove(Listener& listener);
    // A listener has taken bytes: go on if it was what held the command back.
    void progressed();
    // As if a lossless listener stood at `offset`, until one comes or lossless_hold is over.
    void reserve(std::uint64_t offset, std::size_t window = protocol::limits::window_bytes);

  private:
    using TimePoint = std::chrono::steady_clock::time_point;
    struct Holder {
        Listener* listener;  // nullptr: a reservation
        std::uint64_t from;
        std::size_t limit;                     // how far behind it may be
        std::optional<TimePoint> stuck_since;  // no room left, and `from` has not moved since then
    };

    void wait();
    void pause();
    void read_some();
    void read_turn();
    Listener* page_taker() const;
    std::size_t loadable(Listener& taker, std::size_t limit);
    bool read_whole(std::size_t bytes);
    // Reads once, at most `limit` bytes. False: nothing to read now, or ended.
    bool read_piece(std::size_t limit);
    void tell_listeners();
    std::size_t room();
    // How many of the latest bytes lossless listeners may still want. nullopt: there are none.
    std::optional<std::size_t> wanted() const;
    void hold_until(TimePoint when);

    boost::asio::posix::stream_descriptor fd_;
    boost::asio::steady_timer hold_timer_, pause_timer_;
    std::function<void()> on_end_;
    protocol::OutputWindow window_;
    std::vector<Holder> holders_;
    std::optional<TimePoint> hold_until_;  // when the timer is armed
    TimePoint last_turn_;
    bool waiting_ = false;
    bool held_ = false;
    bool ended_ = false;
    bool is_pipe_ = false;  // and not a terminal
};

}  // namespace guest_agent
