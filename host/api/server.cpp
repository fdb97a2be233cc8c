#include "host/api/server.hpp"

#include "host/api/connection.hpp"
#include "host/api/listener.hpp"
#include "host/api/problem.hpp"
#include "host/api/routes.hpp"
#include "host/api/shared.hpp"

#include <list>

#include <spdlog/spdlog.h>

namespace host::api {

namespace asio = boost::asio;
using protocol::Result;

namespace {

constexpr auto stop_limit = std::chrono::seconds(5);

// For a client over the limit: the answer, and the end.
asio::awaitable<void> turn_away(std::shared_ptr<sandbox::TunnelStream> stream) {
    Response refusal = problem("too-many-connections", "come again later");
    refusal.fields.emplace_back("Content-Length", std::to_string(refusal.body.size()));
    refusal.fields.emplace_back("Connection", "close");
    std::string bytes = write_head(refusal.status, refusal.fields) + refusal.body;
    [[maybe_unused]] const auto written = co_await stream->write(std::move(bytes));
    stream->close();
}

}  // namespace

Shared::Shared(asio::any_io_executor loop_executor, asio::thread_pool& worker_pool,
               sandbox::Service& served, ServerOptions given)
    : loop(std::move(loop_executor)),
      workers(sandbox::make_workers(worker_pool)),
      service(served),
      options(std::move(given)),
      folders(options.vfs_root),
      router(all_routes()),
      connections(options.connections),
      waiting(options.waiting),
      tasks(loop) {}

struct Server::State : std::enable_shared_from_this<Server::State> {
    State(asio::any_io_executor loop, asio::thread_pool& workers, sandbox::Service& service,
          ServerOptions options)
        : shared(std::make_shared<Shared>(std::move(loop), workers, service, std::move(options))) {}

    void serve(std::shared_ptr<sandbox::TunnelStream> stream,
               std::optional<sandbox::Principal> principal);
    asio::awaitable<void> serve_to_end(std::shared_ptr<Connection> connection, Origin origin);
    void listen(std::unique_ptr<Listener> listener, std::optional<sandbox::Principal> principal);
    asio::awaitable<void> accept(Listener& listener, std::optional<sandbox::Principal> principal);

    std::shared_ptr<Shared> shared;
    std::list<std::unique_ptr<Listener>> listeners;
    std::list<std::shared_ptr<Connection>> open;
    bool stopping = false;
};

void Server::State::serve(std::shared_ptr<sandbox::TunnelStream> stream,
                          std::optional<sandbox::Principal> principal) {
    if (stopping) return stream->close();
    const Origin origin = principal ? origin_of(*principal) : Origin::elsewhere;
    if (!shared->connections.take(origin)) {
        auto refusal = turn_away(std::move(stream));
        return shared->tasks.spawn(std::move(refusal));
    }
    auto connection = std::make_shared<Connection>(shared, std::move(stream), std::move(principal));
    auto task = serve_to_end(std::move(connection), origin);
    shared->tasks.spawn(std::move(task));
}

asio::awaitable<void> Server::State::serve_to_end(std::shared_ptr<Connection> connection,
                                                  Origin origin) {
    const auto self = shared_from_this();
    const auto place = open.insert(open.end(), connection);
    try {
        co_await connection->run();
    } catch (const std::exception& error) {
        spdlog::error("a connection of the API threw error={}", error.what());
    }
    connection->close();
    shared->connections.give_back(origin);
    open.erase(place);
}

asio::awaitable<void> Server::State::accept(Listener& listener,
                                            std::optional<sandbox::Principal> principal) {
    const auto self = shared_from_this();
    Listener::Accepted accepted = [this, principal](std::shared_ptr<sandbox::TunnelStream> stream) {
        serve(std::move(stream), principal);
    };
    co_await listener.accept_loop(std::move(accepted));
}

void Server::State::listen(std::unique_ptr<Listener> listener,
                           std::optional<sandbox::Principal> principal) {
    auto task = accept(*listener, std::move(principal));
    listeners.push_back(std::move(listener));
    shared->tasks.spawn(std::move(task));
}

Server::Server(asio::any_io_executor loop, asio::thread_pool& workers, sandbox::Service& service,
               ServerOptions options)
    : state_(std::make_shared<State>(std::move(loop), workers, service, std::move(options))) {}

Server::~Server() = default;

Result<void> Server::start() {
    const ServerOptions& options = state_->shared->options;
    const auto& loop = state_->shared->loop;
    if (!options.socket_path.empty()) {
        TRY(auto listener, Listener::unix_socket(loop, options.socket_path, options.socket_group));
        state_->listen(std::move(listener), sandbox::Principal());
        spdlog::info("listening socket={}", options.socket_path);
    }
    if (!options.listen.empty()) {
        TRY(auto listener, Listener::tcp(loop, options.listen));
        spdlog::info("listening address={} port={}", options.listen, listener->port());
        state_->listen(std::move(listener), std::nullopt);
    }
    return {};
}

void Server::serve_stream(std::shared_ptr<sandbox::TunnelStream> stream,
                          sandbox::Principal principal) {
    state_->serve(std::move(stream), std::move(principal));
}

asio::awaitable<void> Server::stop() {
    const auto state = state_;
    state->stopping = true;
    for (const auto& listener : state->listeners) listener->close();
    for (const auto& connection : state->open) connection->close();
    const auto deadline = std::chrono::steady_clock::now() + stop_limit;
    const bool answered = co_await state->shared->tasks.wait_all(deadline);
    if (!answered) {
        spdlog::warn("requests were still being answered when the API stopped");
    }
}

std::uint16_t Server::tcp_port() const {
    for (const auto& listener : state_->listeners) {
        if (listener->port() != 0) return listener->port();
    }
    return 0;
}

std::size_t Server::connections() const {
    return state_->shared->connections.used();
}

}  // namespace host::api
