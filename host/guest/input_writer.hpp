#pragma once
// InputWriter: standard input of one command over any number of connections and any number of
// clients that bring pieces of it. It keeps the bytes that the agent may not have given to the
// program yet - at most one credit window, because credit comes back as they are taken - and sends
// them again, from their offset, on a new connection; the agent skips what it already has. There is
// one writer per command, on one stream: pieces on streams of their own could overtake each other.

#include "host/guest/connection.hpp"
#include "host/guest/wakeup.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace host::guest {

class InputWriter final : public Operation, public std::enable_shared_from_this<InputWriter> {
  public:
    InputWriter(boost::asio::any_io_executor executor, protocol::CommandInput request)
        : changed_(std::move(executor)),
          request_(std::move(request)),
          held_from_(request_.from),
          sent_(request_.from),
          furthest_(request_.from) {}

    std::function<void()> finished;  // the command takes no more input, or the guest was given up

    // Bytes that were brought already are skipped; a piece that begins after end() is a conflict.
    sandbox::Async<void> write(std::uint64_t at, std::string bytes);
    sandbox::Async<void> close();

    std::string request() override;
    bool wants_stream() const override { return !over_; }
    void on_opened(StreamPort opened) override;
    Result<void> on_event(std::string_view name, const boost::json::value& payload) override;
    void on_writable(protocol::Channel channel) override {
        push();
        static_cast<void>(channel);
    }
    void on_disconnected() override { port = StreamPort(); }
    Result<void> on_end(Result<boost::json::value> answer) override;
    void on_abandoned(const Failure& why) override;

    StreamPort port;

  private:
    std::uint64_t end() const { return held_from_ + held_.size(); }
    void push();
    void trim();
    void finish();

    Wakeup changed_;
    protocol::CommandInput request_;
    std::string held_;  // bytes [held_from_, end())
    std::uint64_t held_from_;
    std::uint64_t sent_;      // next byte to be given to the current stream
    std::uint64_t furthest_;  // first byte that no stream has been given
    bool end_asked_ = false;
    bool end_sent_ = false;  // on the current stream
    bool over_ = false;
    std::optional<Failure> broken_;
};

// One client's view of a command's input: where its next byte belongs.
class InputPiece final : public sandbox::InputSink {
  public:
    InputPiece(std::shared_ptr<InputWriter> writer, std::uint64_t from)
        : writer_(std::move(writer)), at_(from) {}
    sandbox::Async<void> write(std::string bytes) override;
    sandbox::Async<void> close() override;

  private:
    std::shared_ptr<InputWriter> writer_;
    std::uint64_t at_;
};

}  // namespace host::guest
