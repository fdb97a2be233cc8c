#pragma once
// Connector: from a judged target to a connected socket. Resolves the name, judges every address,
// and connects to one that passed - to that address, without a second look-up.

#include "host/egress/address_rules.hpp"
#include "host/egress/policy.hpp"

#include <map>
#include <string>
#include <variant>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/thread_pool.hpp>

namespace host::egress {

// Why there is no connection: an HTTP status and a text for the person behind the request.
struct Refusal {
    Refusal() = default;
    Refusal(unsigned code, std::string text) : status(code), why(std::move(text)) {}
    unsigned status = 502;
    std::string why;
};

class Connector {
  public:
    using Socket = boost::asio::ip::tcp::socket;
    using Outcome = std::variant<Socket, Refusal>;

    Connector(boost::asio::any_io_executor executor, AddressRules rules);

    boost::asio::awaitable<Outcome> connect(std::string run, Target target, Verdict verdict);

  private:
    struct Candidates {
        Candidates() = default;
        std::vector<Address> addresses;
        int error = 0;  // of getaddrinfo
    };

    boost::asio::awaitable<Candidates> resolve(std::string run, std::string host);
    std::optional<std::string> refuse(const Address& address, const Target& target,
                                      const std::vector<OwnAddress>& own) const;

    boost::asio::any_io_executor executor_;
    AddressRules rules_;
    // getaddrinfo blocks for as long as a name server likes; one run's names must not hold up
    // others'.
    boost::asio::thread_pool resolvers_;
    std::map<std::string, std::size_t> lookups_;  // under way, by run
};

}  // namespace host::egress
