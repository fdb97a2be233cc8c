#pragma once
// AddressRules: which addresses a capsule may be connected to. Judged on the address itself, after
// resolution and before the connection is made to exactly that address; names never count here.
// Sources: IANA IPv4 and IPv6 Special-Purpose Address Registries.

#include "protocol/base/result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/address.hpp>

namespace host::egress {

using protocol::Result;
using Address = boost::asio::ip::address;

// "10.0.0.0/8", "fd00::/8", "192.0.2.7"
class AddressRange {
  public:
    static Result<AddressRange> parse(std::string_view text);
    AddressRange(Address network, unsigned prefix)
        : network_(std::move(network)), prefix_(prefix) {}
    // Never across families: an IPv4-mapped address is in no IPv4 range.
    bool contains(const Address& address) const;

  private:
    Address network_;
    unsigned prefix_;
};

// What kind of address it is, when it is none of the public internet: "a private address".
std::optional<std::string_view> why_not_public(const Address& address);

// An interface's address with the length of its network's prefix.
struct OwnAddress {
    Address address;
    unsigned prefix = 0;
};
// The host's interfaces as they are now; empty only when the kernel does not say.
std::vector<OwnAddress> own_addresses();

class AddressRules {
  public:
    explicit AddressRules(std::vector<AddressRange> allowed_by_operator)
        : allowed_(std::move(allowed_by_operator)) {}

    bool allowed_by_operator(const Address& address) const;
    // nullopt: a capsule may be connected to it. Otherwise what it is ("an address of this host").
    std::optional<std::string_view> refuse(const Address& address,
                                           const std::vector<OwnAddress>& own) const;

  private:
    std::vector<AddressRange> allowed_;
};

}  // namespace host::egress
