#pragma once
// TerminalSession: a command's terminal over a WebSocket. Binary messages are bytes both ways; text
// from the client resizes or signals; before closing the server sends the result as text. A client
// that leaves before the command has ended hangs up: SIGHUP.

#include "host/api/request_head.hpp"
#include "host/sandbox/service.hpp"

#include <memory>
#include <string_view>

namespace host::api {

class Connection;

class TerminalSession {
  public:
    TerminalSession(std::shared_ptr<Connection> connection, boost::asio::any_io_executor loop,
                    sandbox::Service& service, sandbox::Principal principal, protocol::RunId run,
                    protocol::CommandId command);
    ~TerminalSession();

    // Accepts the upgrade and returns when both sides are done. The object must outlive it.
    boost::asio::awaitable<void> run(const RequestHead& head,
                                     std::shared_ptr<sandbox::Follower> follower,
                                     std::shared_ptr<sandbox::InputSink> input);

  private:
    struct Socket;
    boost::asio::awaitable<void> send_output();
    boost::asio::awaitable<void> take_input();
    boost::asio::awaitable<void> obey(std::string_view text);
    boost::asio::awaitable<void> send_result();
    boost::asio::awaitable<void> hang_up();

    std::shared_ptr<Connection> connection_;
    sandbox::Service& service_;
    sandbox::Principal principal_;
    protocol::RunId run_;
    protocol::CommandId command_;
    std::unique_ptr<Socket> socket_;
    std::shared_ptr<sandbox::Follower> follower_;
    std::shared_ptr<sandbox::InputSink> input_;
    bool over_ = false;  // the command has ended
    bool left_ = false;  // the client has gone before that
};

}  // namespace host::api
