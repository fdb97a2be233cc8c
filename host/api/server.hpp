#pragma once
// Server: the HTTP API on a Unix socket, optionally on TCP with bearer keys, and over connections
// that come from inside a run. Boost.Beast parses, Service does. Wired in main.cpp.
//
// Threading: the loop thread only, the one that owns the service; reading and writing files goes to
// the worker pool. Service, pool and executor must outlive the server. Errors: start() says why a
// listener cannot be opened; afterwards an error ends one connection and nothing else.

#include "host/sandbox/service.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

namespace host::api {

struct ServerOptions {
    ServerOptions() = default;
    std::string socket_path;                // "/run/capsuled/api.sock"; "" = no Unix socket
    std::string socket_group = "capsuled";  // where there is no such group: root's
    std::string listen;                     // "127.0.0.1:7070", "[::1]:7070"; "" = no TCP
    std::string vfs_root;                   // the folder that VFS folders live in
    std::chrono::milliseconds header_timeout = std::chrono::seconds(10);
    std::chrono::milliseconds idle_timeout =
        std::chrono::seconds(60);  // between requests, within a body
    std::size_t connections = 512;
    std::size_t waiting = 256;  // long polls
};

class Server {
  public:
    Server(boost::asio::any_io_executor loop, boost::asio::thread_pool& workers,
           sandbox::Service& service, ServerOptions options);
    // After stop() only.
    ~Server();

    // Opens the listeners and serves. A socket file left by a dead daemon is replaced; one that
    // somebody answers on is a failure.
    protocol::Result<void> start();
    // Serves a connection that was opened inside a run (or any other stream) with the rights given.
    void serve_stream(std::shared_ptr<sandbox::TunnelStream> stream, sandbox::Principal principal);
    // Closes listeners and connections and waits, at most 5 s, until no handler is left.
    boost::asio::awaitable<void> stop();

    std::uint16_t tcp_port() const;  // 0: none. For "ADDRESS:0", the port that was chosen.
    std::size_t connections() const;

  private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace host::api
