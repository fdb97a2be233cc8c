#include "host/egress/proxy/connector.hpp"

#include "host/egress/proxy/limits.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace host::egress {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::steady_clock;

namespace {

Address address_of(const sockaddr& found) {
    // By copy: the alignment of what getaddrinfo returns is not promised.
    if (found.sa_family == AF_INET) {
        sockaddr_in in{};
        std::memcpy(&in, &found, sizeof in);
        return asio::ip::address_v4(ntohl(in.sin_addr.s_addr));
    }
    sockaddr_in6 in{};
    asio::ip::address_v6::bytes_type bytes;
    std::memcpy(&in, &found, sizeof in);
    std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
    return asio::ip::address_v6(bytes);
}

// Connects, or gives up at the deadline by closing the socket.
asio::awaitable<boost::system::error_code> connect_until(std::shared_ptr<tcp::socket> socket,
                                                         tcp::endpoint endpoint,
                                                         steady_clock::time_point deadline) {
    asio::steady_timer timer(socket->get_executor(), deadline);
    timer.async_wait([socket](boost::system::error_code error) {
        if (!error) socket->close(error);
    });
    const auto [error] =
        co_await socket->async_connect(endpoint, asio::as_tuple(asio::use_awaitable));
    // It has gone off when there is nothing to cancel; then the socket is closed, or will be.
    if (timer.cancel() == 0) co_return asio::error::timed_out;
    co_return error;
}

}  // namespace

Connector::Connector(asio::any_io_executor executor, AddressRules rules)
    : executor_(std::move(executor)),
      rules_(std::move(rules)),
      resolvers_(limits::resolver_threads) {}

asio::awaitable<Connector::Candidates> Connector::resolve(std::string run, std::string host) {
    Candidates candidates;
    std::size_t& under_way = lookups_[run];
    if (under_way >= limits::lookups_per_run) {
        candidates.error = EAI_AGAIN;
        co_return candidates;
    }
    ++under_way;
    auto look_up = [](std::string name) -> asio::awaitable<Candidates> {
        Candidates found;
        addrinfo hints{};
        hints.ai_family = AF_UNSPEC;
        hints.ai_socktype = SOCK_STREAM;
        hints.ai_flags = AI_ADDRCONFIG;
        addrinfo* list = nullptr;
        found.error = ::getaddrinfo(name.c_str(), nullptr, &hints, &list);
        for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
            if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
            found.addresses.push_back(address_of(*entry->ai_addr));
        }
        if (list != nullptr) ::freeaddrinfo(list);
        co_return found;
    };
    auto work = look_up(std::move(host));
    candidates = co_await asio::co_spawn(resolvers_, std::move(work), asio::use_awaitable);
    if (--lookups_[run] == 0) lookups_.erase(run);
    co_return candidates;
}

std::optional<std::string> Connector::refuse(const Address& address, const Target& target,
                                             const std::vector<OwnAddress>& own) const {
    if (rules_.allowed_by_operator(address)) return std::nullopt;
    // Without the list the host could not be told from others.
    if (own.empty()) return "This host cannot list its own addresses, so nothing can be reached.";
    if (const auto what = rules_.refuse(address, own)) {
        return (target.is_address ? target.host + " is " : target.host + " has ") +
               std::string(*what) +
               ", which capsules may not reach. The operator of this host can allow a range "
               "(egress-allow).";
    }
    if (is_web_port(target.port)) return std::nullopt;
    return "Capsules may use ports 80 and 443 of other hosts, not " + std::to_string(target.port) +
           ". The operator of this host can allow all ports of a range (egress-allow).";
}

asio::awaitable<Connector::Outcome> Connector::connect(std::string run, Target target,
                                                       Verdict verdict) {
    const auto deadline = steady_clock::now() + limits::connect_time;
    Candidates candidates;
    if (target.is_address) {
        candidates.addresses.push_back(asio::ip::make_address(target.host));
    } else {
        auto resolving = resolve(run, target.host);
        candidates = co_await std::move(resolving);
    }
    if (candidates.addresses.empty()) {
        const bool busy = candidates.error == EAI_AGAIN;
        Refusal refusal(busy ? 503 : 502, "The name " + target.host +
                                              (busy ? " cannot be looked up now, try again: "
                                                    : " does not resolve on this host: ") +
                                              ::gai_strerror(candidates.error));
        co_return refusal;
    }
    const bool trusted = verdict.what == Verdict::What::trusted;
    const auto own = own_addresses();
    std::optional<Refusal> refusal;
    for (const Address& address : candidates.addresses) {
        if (auto why = trusted ? std::nullopt : refuse(address, target, own)) {
            if (!refusal) refusal = Refusal(403, std::move(*why));
            continue;
        }
        const auto socket = std::make_shared<tcp::socket>(executor_);
        boost::system::error_code error;
        const tcp::endpoint endpoint(address, target.port);
        socket->open(endpoint.protocol(), error);
        // Asio's sockets are not close-on-exec.
        if (!error) ::fcntl(socket->native_handle(), F_SETFD, FD_CLOEXEC);
        if (!error) {
            auto connecting = connect_until(socket, endpoint, deadline);
            error = co_await std::move(connecting);
        }
        if (error) {
            const bool late = error == asio::error::timed_out;
            refusal = Refusal(late ? 504 : 502,
                              target.authority() + " cannot be reached: " + error.message());
            if (steady_clock::now() >= deadline) break;
            continue;
        }
        // An address that routes to this host itself without being on an interface shows here.
        const auto local = socket->local_endpoint(error);
        if (!trusted && !rules_.allowed_by_operator(address) && !error &&
            local.address() == address) {
            refusal =
                Refusal(403, target.host + " is this host itself, which capsules may not reach.");
            continue;
        }
        socket->set_option(tcp::no_delay(true), error);
        co_return Outcome(std::move(*socket));
    }
    co_return *refusal;
}

}  // namespace host::egress
