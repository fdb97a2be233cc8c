#include "host/egress/proxy/server.hpp"

#include "protocol/base/ids.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>

namespace host::egress {

namespace asio = boost::asio;
using asio::local::stream_protocol;

ProxyServer::ProxyServer(asio::any_io_executor executor, protocol::UniqueFd control,
                         AddressRules rules)
    : executor_(executor),
      control_(executor, control.release()),
      parts_(executor, std::move(rules)) {}

asio::awaitable<void> ProxyServer::run() {
    for (;;) {
        const auto [error] = co_await control_.async_wait(asio::posix::descriptor_base::wait_read,
                                                          asio::as_tuple(asio::use_awaitable));
        if (error) co_return;
        auto received = receive_with_fd(control_.native_handle());
        if (!received) {
            if (received.error().kind() == protocol::Kind::unavailable) continue;
            spdlog::error("egress handover failed why=\"{}\"", received.error().describe());
            if (received.error().kind() == protocol::Kind::protocol_violation) continue;
            co_return;
        }
        if (!*received) co_return;
        take(std::move(**received));
    }
}

void ProxyServer::take(Received received) {
    auto handover = decode_handover(received.text);
    if (!handover || !protocol::RunId::parse(handover->run)) {
        spdlog::error("egress handover not understood why=\"{}\"",
                      handover ? "the run's id is none" : handover.error().describe());
        return;
    }
    boost::system::error_code error;
    Wires::Client socket(executor_);
    socket.assign(stream_protocol(), received.fd.get(), error);
    if (error) {
        spdlog::error("egress connection unusable run={} why=\"{}\"", handover->run,
                      error.message());
        return;
    }
    static_cast<void>(received.fd.release());  // the socket closes it now
    std::size_t& of_run = connections_[handover->run];
    ++of_run;
    ++total_;
    const std::string run = handover->run;
    auto finished = [this, run](std::exception_ptr thrown) {
        leave(run);
        if (!thrown) return;
        try {
            std::rethrow_exception(thrown);
        } catch (const std::exception& failure) {
            // One connection is lost, not the others.
            spdlog::error("egress connection failed run={} why=\"{}\"", run, failure.what());
        }
    };
    const bool full = of_run > limits::connections_per_run || total_ > limits::connections;
    asio::co_spawn(executor_,
                   full ? refuse(run, std::move(socket))
                        : serve(run, std::move(handover->policy), std::move(socket)),
                   std::move(finished));
}

asio::awaitable<void> ProxyServer::serve(std::string run, Policy policy, Wires::Client socket) {
    auto serving = serve_connection(parts_, std::move(run), std::move(policy), std::move(socket));
    co_await std::move(serving);
}

asio::awaitable<void> ProxyServer::refuse(std::string run, Wires::Client socket) {
    const std::string why = "This capsule has too many connections open at once (at most " +
                            std::to_string(limits::connections_per_run) +
                            "). Close some and try again.";
    parts_.log.refused(run, "-", "-", why);
    auto answering = send_answer(std::make_shared<Wires>(std::move(socket)), 503, why, false);
    co_await std::move(answering);
}

void ProxyServer::leave(const std::string& run) {
    --total_;
    const auto found = connections_.find(run);
    if (--found->second != 0) return;
    connections_.erase(found);
    parts_.log.forget(run);
}

}  // namespace host::egress
