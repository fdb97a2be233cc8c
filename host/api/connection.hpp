#pragma once
// Connection: serves one client's requests, one after another, over any byte stream. Reads ahead,
// so it notices at once when the client goes away; only its timers close the stream. Loop thread
// only.

#include "host/api/input.hpp"
#include "host/api/request_parser.hpp"
#include "host/api/response.hpp"
#include "host/api/shared.hpp"

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/steady_timer.hpp>

namespace host::api {

class Exchange;

class Connection : public std::enable_shared_from_this<Connection> {
  public:
    // Without a principal each request needs a bearer key.
    Connection(std::shared_ptr<Shared> shared, std::shared_ptr<sandbox::TunnelStream> stream,
               std::optional<sandbox::Principal> principal);

    boost::asio::awaitable<void> run();
    void close();

    // ---- for Exchange ----
    Input& input() { return input_; }
    sandbox::Async<std::string> read_body(std::size_t limit, std::chrono::milliseconds patience);
    sandbox::Async<bool> begin(unsigned status, Fields fields, std::optional<std::uint64_t> length);
    sandbox::Async<void> send(std::string bytes);
    sandbox::Async<void> finish();
    // Raw bytes, for what follows a "101 Switching Protocols".
    sandbox::Async<void> write(std::string bytes);
    // How long a write may make no progress before the connection is closed.
    void set_stall_limit(std::chrono::milliseconds limit) { stall_limit_ = limit; }

  private:
    enum class Next : std::uint8_t { request, close, linger };

    boost::asio::awaitable<void> serve();
    boost::asio::awaitable<Next> serve_one();
    boost::asio::awaitable<Next> answer(const RequestHead& head);
    boost::asio::awaitable<Response> handle(const RequestHead& head);
    boost::asio::awaitable<Response> run_handler(Exchange& exchange, const Route& route);
    protocol::Result<sandbox::Principal> identify(const RequestHead& head, bool open_route);
    boost::asio::awaitable<Next> after_answer(const RequestHead& head);
    sandbox::Async<void> respond(Response response, bool without_body);
    boost::asio::awaitable<void> linger();
    std::string framed(unsigned status, Fields fields) const;

    std::shared_ptr<Shared> shared_;
    std::shared_ptr<sandbox::TunnelStream> stream_;
    std::optional<sandbox::Principal> principal_;
    Input input_;
    boost::asio::steady_timer stall_timer_;
    std::chrono::milliseconds stall_limit_;
    Wake written_;
    bool writing_ = false;
    bool client_left_ = false;  // nothing can be written any more

    // ---- the request being answered ----
    std::unique_ptr<RequestParser> parser_;
    bool closing_ = false;  // no request after this one
    bool head_only_ = false;
    bool continue_due_ = false;  // the client waits for "100 Continue" before it sends the body
    bool begun_ = false;         // the answer's head is out
    bool chunked_ = false;
    unsigned status_ = 0;
};

}  // namespace host::api
