#pragma once
// exchange(): one plain HTTP request to its server and the answer back, both streamed. Nothing of
// the request's text reaches the server as it came: it was parsed and is written anew with its own
// framing, one request a connection, so there is nothing left to smuggle a second one in.

#include "host/egress/proxy/session.hpp"

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>

namespace host::egress {

using RequestParser = boost::beast::http::request_parser<boost::beast::http::buffer_body>;

// Why a parsed header must not be passed on; nullopt when there is nothing wrong with it.
std::optional<std::string> smuggling_in(const RequestParser::value_type& request);

// wires->server is connected. True: the client's connection can take another request.
boost::asio::awaitable<bool> exchange(std::shared_ptr<Wires> wires, Target target,
                                      std::shared_ptr<RequestParser> parser);

// Raw bytes both ways until both directions have ended; wires->server is connected.
boost::asio::awaitable<void> relay(std::shared_ptr<Wires> wires);

}  // namespace host::egress
