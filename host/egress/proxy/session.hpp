#pragma once
// ProxySession: one connection of a guest. Reads requests one after another, judges each, and
// either refuses it with a text, or hands it to exchange() (plain HTTP) or relay() (CONNECT).

#include "host/egress/policy.hpp"
#include "host/egress/proxy/connector.hpp"
#include "host/egress/proxy/decision_log.hpp"
#include "host/egress/proxy/limits.hpp"
#include "host/egress/proxy/watchdog.hpp"

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>

namespace host::egress {

// What all sessions share.
struct ProxyParts {
    ProxyParts(boost::asio::any_io_executor executor, AddressRules rules)
        : connector(std::move(executor), std::move(rules)) {}
    Connector connector;
    DecisionLog log;
};

// One guest connection and, while a request is answered, its connection to a server. Shared by the
// coroutines of a session.
struct Wires {
    using Client = boost::asio::local::stream_protocol::socket;
    using Server = boost::asio::ip::tcp::socket;

    explicit Wires(Client socket);
    void close();  // both, at once
    void close_server();

    Client client;
    boost::beast::flat_buffer client_buffer;
    std::optional<Server> server;
    std::shared_ptr<Watchdog> watchdog;
};

// Returns when the connection is over. `parts` outlives it.
boost::asio::awaitable<void> serve_connection(ProxyParts& parts, std::string run, Policy policy,
                                              Wires::Client socket);

// A complete answer of our own; closes nothing. `details` is for the person behind the request.
boost::asio::awaitable<bool> send_answer(std::shared_ptr<Wires> wires, unsigned status,
                                         std::string details, bool head_only);

}  // namespace host::egress
