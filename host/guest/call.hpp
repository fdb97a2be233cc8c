#pragma once
// Call: one question to the agent that has one answer. Asked again on a new connection, which every
// request of the protocol allows; the text is made anew each time because some say "from now".

#include "host/guest/connection.hpp"
#include "host/guest/wakeup.hpp"

#include <functional>
#include <optional>
#include <string>

namespace host::guest {

class Call final : public Operation {
  public:
    using Answer = Result<boost::json::value>;

    // `body`: sent on channel input after the request and half-closed, when present.
    Call(boost::asio::any_io_executor executor, std::function<std::string()> make_request,
         std::optional<std::string> body)
        : changed(std::move(executor)),
          make_request_(std::move(make_request)),
          body_(std::move(body)) {}

    std::string request() override { return make_request_(); }
    void on_opened(StreamPort port) override;
    void on_writable(protocol::Channel channel) override;
    void on_disconnected() override { port = StreamPort(); }
    Result<void> on_end(Answer given) override;
    void on_abandoned(const Failure& why) override;

    Wakeup changed;
    std::optional<Answer> answer;
    StreamPort port;

  private:
    void push();

    std::function<std::string()> make_request_;
    std::optional<std::string> body_;
    std::size_t body_sent_ = 0;
    bool body_done_ = false;
};

}  // namespace host::guest
