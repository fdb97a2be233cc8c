#pragma once
// CommandRun: a command's own stream, from command.start until the agent says that no late output
// is possible. Opened again with the same id on every connection (the agent attaches to what it
// already has) until that end, or until the result was forgotten: opening it after that would run
// it twice.

#include "host/guest/connection.hpp"
#include "host/guest/report_check.hpp"
#include "host/guest/wakeup.hpp"

#include <functional>
#include <optional>

namespace host::guest {

class CommandRun final : public Operation {
  public:
    CommandRun(boost::asio::any_io_executor executor, protocol::CommandStart start,
               std::function<void()> started, std::function<void(protocol::CommandReport)> late)
        : changed(std::move(executor)),
          start_(std::move(start)),
          started_(std::move(started)),
          late_(std::move(late)) {}

    const std::string& id() const { return start_.id; }
    void forget() { forgotten_ = true; }

    std::string request() override;
    bool wants_stream() const override { return !forgotten_; }
    void on_opened(StreamPort opened) override {
        port = std::move(opened);
        exited_heard_ = false;
    }
    Result<void> on_event(std::string_view name, const boost::json::value& payload) override;
    void on_disconnected() override { port = StreamPort(); }
    Result<void> on_end(Result<boost::json::value> answer) override;
    void on_abandoned(const Failure& why) override;

    Wakeup changed;
    std::optional<Result<protocol::CommandReport>> result;
    StreamPort port;

  private:
    Result<void> take(const boost::json::value& payload);

    protocol::CommandStart start_;
    std::function<void()> started_;  // empty once called
    std::function<void(protocol::CommandReport)> late_;
    std::uint64_t heard_bytes_ = 0;  // of the newest report, both outputs
    bool heard_open_ = true;
    bool exited_heard_ = false;  // on this connection
    bool forgotten_ = false;
};

}  // namespace host::guest
