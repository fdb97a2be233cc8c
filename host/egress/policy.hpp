#pragma once
// Policy: what one run may reach, and the judgement of a request by it - as far as names go.
// Addresses are judged when they are connected to (address_rules.hpp). Pure. docs/network.md says
// the same to users.

#include "host/egress/target.hpp"
#include "host/model/definition.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <boost/describe.hpp>

namespace host::egress {

// One of the image's package sources, from its manifest or the operator's configuration.
struct PackageSource {
    PackageSource() = default;
    std::string scheme, host;
    std::uint16_t port{};
    std::string path;  // ends with "/"
};
BOOST_DESCRIBE_STRUCT(PackageSource, (), (scheme, host, port, path))

struct Policy {
    Policy() = default;
    model::Network network;
    std::vector<PackageSource> sources;
};
BOOST_DESCRIBE_STRUCT(Policy, (), (network, sources))

struct Verdict {
    Verdict() = default;
    enum class What : std::uint8_t {
        refused,
        trusted,       // a package source: whatever its address
        if_reachable,  // whatever address it has must be one that capsules may reach; ports 80 and
                       // 443, others only where the operator allows the range
    };
    What what{};
    std::string why;  // refused: for the person behind the request
};

Verdict judge(const Policy& policy, const Target& target);

// "example.org" or "*.example.org", lower-case; "*.x" does not match x itself.
bool matches_host(std::string_view pattern, std::string_view host);

bool is_web_port(std::uint16_t port);

std::string url(const PackageSource& source);
// The reverse: "http://host[:port]/path", as operators write it.
Result<PackageSource> parse_source(std::string_view url);

}  // namespace host::egress
