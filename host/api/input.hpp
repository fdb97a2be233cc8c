#pragma once
// Input: what a client sends, read ahead by one loop that is never cancelled to time out. It keeps
// at most limits::read_ahead_bytes, so a sender faster than its consumer is held back by the
// socket; and since it goes on reading while a request is being answered, a client that goes away
// is noticed at once.

#include "host/api/wake.hpp"
#include "host/sandbox/guest.hpp"

#include <chrono>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace host::api {

class Input {
  public:
    Input(boost::asio::any_io_executor executor, std::shared_ptr<sandbox::TunnelStream> stream);

    // Ends at end of file, on an error and once the stream is closed.
    boost::asio::awaitable<void> read_loop();

    enum class Arrival : std::uint8_t { bytes, end, late };
    // Until there are more bytes than at the call, the end, or the instant. Bytes before the end
    // are reported first.
    boost::asio::awaitable<Arrival> more(Wake::TimePoint instant);
    boost::asio::awaitable<void> wait_end();

    // Not yet consumed. Whoever takes bytes off its front calls consumed() afterwards.
    std::string& bytes() { return bytes_; }
    void consumed() { room_.notify_all(); }
    bool ended() const { return ended_; }

  private:
    std::shared_ptr<sandbox::TunnelStream> stream_;
    std::string bytes_;
    bool ended_ = false;
    Wake arrived_, room_;
};

}  // namespace host::api
