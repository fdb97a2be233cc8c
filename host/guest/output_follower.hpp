#pragma once
// OutputFollower: live output of one command over any number of connections. It knows the offset of
// the next byte of each channel, so a new connection goes on there; what the agent no longer has
// arrives as a gap. Held bytes are bounded by two windows a channel: credit goes back only as
// read() hands bytes out, and a new stream is not opened while more than one window is unread.

#include "host/guest/connection.hpp"
#include "host/guest/wakeup.hpp"

#include <array>
#include <deque>
#include <functional>
#include <optional>

namespace host::guest {

class OutputFollower final : public Operation,
                             public sandbox::Follower,
                             public std::enable_shared_from_this<OutputFollower> {
  public:
    // `willing`: called when it wants a stream again after it did not. `dropped`: the consumer is
    // gone.
    // `window`: the credit for each output, in bytes; CommandFollow::window.
    OutputFollower(boost::asio::any_io_executor executor, protocol::CommandFollow request,
                   std::uint32_t window);

    std::function<void()> willing, dropped;

    sandbox::Async<std::optional<Chunk>> read() override;
    void close() override;

    std::string request() override;
    bool wants_stream() const override;
    void on_opened(StreamPort opened) override;
    Result<void> on_event(std::string_view name, const boost::json::value& payload) override;
    Result<void> on_data(protocol::Channel channel, std::string bytes, bool last) override;
    void on_disconnected() override;
    Result<void> on_end(Result<boost::json::value> answer) override;
    void on_abandoned(const Failure& why) override;

    StreamPort port;

  private:
    struct Queued {
        Chunk chunk;
        std::uint64_t epoch = 0;  // of the stream whose credit it holds
    };

    std::uint64_t& offset(protocol::Channel channel);
    Result<void> push(Chunk chunk);
    Chunk* extendable(Chunk::What what, protocol::Channel channel);

    Wakeup changed_;
    protocol::CommandFollow request_;  // its offsets are those of the next byte to be received
    const std::uint32_t window_;
    std::deque<Queued> queue_;
    std::size_t queued_bytes_ = 0;
    std::array<bool, 4> channel_ended_{};  // by Channel
    bool exited_ = false;
    std::uint64_t epoch_ = 0;
    bool over_ = false;
    std::optional<Failure> broken_;  // told once, after what is queued
};

}  // namespace host::guest
