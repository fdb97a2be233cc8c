#include "host/egress/address_rules.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <span>
#include <sys/socket.h>

namespace host::egress {

using boost::asio::ip::make_address;

namespace {

// Networks so wide that their members are no neighbours in any useful sense (point-to-point links
// and overlay networks come with such masks).
constexpr unsigned narrowest_neighbourhood_v4 = 16;
constexpr unsigned narrowest_neighbourhood_v6 = 48;

struct Special {
    std::string_view range;
    std::string_view what;
};

constexpr std::array special_v4 = {
    Special{"0.0.0.0/8", "an address of \"this\" network"},
    Special{"10.0.0.0/8", "a private address"},
    Special{"100.64.0.0/10", "a carrier's shared address"},
    Special{"127.0.0.0/8", "a loopback address"},
    Special{"169.254.0.0/16", "a link-local address (metadata services live there)"},
    Special{"172.16.0.0/12", "a private address"},
    Special{"192.0.0.0/24", "an address reserved for protocols"},
    Special{"192.0.2.0/24", "an address reserved for documentation"},
    Special{"192.88.99.0/24", "a relay address"},
    Special{"192.168.0.0/16", "a private address"},
    Special{"198.18.0.0/15", "an address reserved for measurements"},
    Special{"198.51.100.0/24", "an address reserved for documentation"},
    Special{"203.0.113.0/24", "an address reserved for documentation"},
    Special{"224.0.0.0/4", "a multicast address"},
    Special{"240.0.0.0/4", "a reserved address"},
};

// The first that matches counts. Everything outside 2000::/3 is refused, so most of these only give
// the reason a name.
constexpr std::array special_v6 = {
    Special{"::/128", "the unspecified address"},
    Special{"::1/128", "a loopback address"},
    Special{"::ffff:0:0/96", "an IPv4 address in IPv6 clothing"},
    Special{"::/96", "an IPv4 address in IPv6 clothing"},
    Special{"64:ff9b::/96", "an IPv4 address behind a translator (NAT64)"},
    Special{"64:ff9b:1::/48", "an IPv4 address behind a translator (NAT64)"},
    Special{"100::/64", "a discard address"},
    Special{"2001::/23", "an address reserved for protocols"},
    Special{"2001:db8::/32", "an address reserved for documentation"},
    Special{"2002::/16", "an IPv4 address in IPv6 clothing (6to4)"},
    Special{"3fff::/20", "an address reserved for documentation"},
    Special{"fc00::/7", "a private address"},
    Special{"fe80::/10", "a link-local address"},
    Special{"fec0::/10", "a site-local address"},
    Special{"ff00::/8", "a multicast address"},
};

// Parsed once; the table above is our own text.
std::vector<std::pair<AddressRange, std::string_view>> parsed(std::span<const Special> table) {
    std::vector<std::pair<AddressRange, std::string_view>> ranges;
    for (const Special& special : table)
        ranges.emplace_back(AddressRange::parse(special.range).value(), special.what);
    return ranges;
}

bool same_prefix(std::span<const unsigned char> a, std::span<const unsigned char> b,
                 unsigned bits) {
    const std::size_t whole = bits / 8;
    if (std::memcmp(a.data(), b.data(), whole) != 0) return false;
    const unsigned rest = bits % 8;
    if (rest == 0) return true;
    const auto mask = static_cast<unsigned char>(0xFFu << (8 - rest));
    return ((a[whole] ^ b[whole]) & mask) == 0;
}

template <typename Bytes>
unsigned prefix_of(const Bytes& mask) {
    unsigned bits = 0;
    for (const unsigned char byte : mask) bits += static_cast<unsigned>(std::popcount(byte));
    return bits;
}

}  // namespace

Result<AddressRange> AddressRange::parse(std::string_view text) {
    const auto slash = text.find('/');
    boost::system::error_code error;
    const Address network = make_address(text.substr(0, slash), error);
    if (error) {
        return protocol::fail(protocol::Kind::invalid_argument,
                              "\"" + std::string(text) + "\" is no address range");
    }
    const unsigned widest = network.is_v4() ? 32 : 128;
    unsigned prefix = widest;
    if (slash != std::string_view::npos) {
        const std::string_view digits = text.substr(slash + 1);
        const auto [end, wrong] =
            std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
        if (wrong != std::errc() || end != digits.data() + digits.size() || prefix > widest) {
            return protocol::fail(protocol::Kind::invalid_argument,
                                  "\"" + std::string(text) + "\" has no prefix length from 0 to " +
                                      std::to_string(widest));
        }
    }
    return AddressRange(network, prefix);
}

bool AddressRange::contains(const Address& address) const {
    if (address.is_v4() != network_.is_v4()) return false;
    if (address.is_v4())
        return same_prefix(address.to_v4().to_bytes(), network_.to_v4().to_bytes(), prefix_);
    return same_prefix(address.to_v6().to_bytes(), network_.to_v6().to_bytes(), prefix_);
}

std::optional<std::string_view> why_not_public(const Address& address) {
    static const auto v4 = parsed(special_v4);
    static const auto v6 = parsed(special_v6);
    static const AddressRange global_v6 = AddressRange::parse("2000::/3").value();
    for (const auto& [range, what] : address.is_v4() ? v4 : v6) {
        if (range.contains(address)) return what;
    }
    if (address.is_v6() && !global_v6.contains(address))
        return "an address outside the public internet";
    return std::nullopt;
}

std::vector<OwnAddress> own_addresses() {
    std::vector<OwnAddress> own;
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return own;
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr) continue;
        OwnAddress found;
        // The kernel's address structures are read by copy: their alignment is not promised.
        if (entry->ifa_addr->sa_family == AF_INET) {
            sockaddr_in in{};
            std::memcpy(&in, entry->ifa_addr, sizeof in);
            found.address = boost::asio::ip::address_v4(ntohl(in.sin_addr.s_addr));
            found.prefix = 32;
            if (entry->ifa_netmask != nullptr) {
                std::memcpy(&in, entry->ifa_netmask, sizeof in);
                found.prefix = static_cast<unsigned>(std::popcount(in.sin_addr.s_addr));
            }
        } else if (entry->ifa_addr->sa_family == AF_INET6) {
            sockaddr_in6 in{};
            boost::asio::ip::address_v6::bytes_type bytes;
            std::memcpy(&in, entry->ifa_addr, sizeof in);
            std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
            found.address = boost::asio::ip::address_v6(bytes);
            found.prefix = 128;
            if (entry->ifa_netmask != nullptr) {
                std::memcpy(&in, entry->ifa_netmask, sizeof in);
                std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
                found.prefix = prefix_of(bytes);
            }
        } else {
            continue;
        }
        own.push_back(found);
    }
    ::freeifaddrs(list);
    return own;
}

bool AddressRules::allowed_by_operator(const Address& address) const {
    for (const AddressRange& range : allowed_) {
        if (range.contains(address)) return true;
    }
    return false;
}

std::optional<std::string_view> AddressRules::refuse(const Address& address,
                                                     const std::vector<OwnAddress>& own) const {
    if (allowed_by_operator(address)) return std::nullopt;
    for (const OwnAddress& mine : own) {
        if (mine.address == address) return "an address of this host";
    }
    if (const auto what = why_not_public(address)) return what;
    for (const OwnAddress& mine : own) {
        const unsigned narrowest =
            mine.address.is_v4() ? narrowest_neighbourhood_v4 : narrowest_neighbourhood_v6;
        if (mine.prefix >= narrowest && AddressRange(mine.address, mine.prefix).contains(address)) {
            return "an address in this host's own network";
        }
    }
    return std::nullopt;
}

}  // namespace host::egress
