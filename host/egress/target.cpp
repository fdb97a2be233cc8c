#include "host/egress/target.hpp"

#include <algorithm>
#include <charconv>

#include <boost/asio/ip/address.hpp>

namespace host::egress {

using protocol::fail;
using protocol::Kind;

namespace {

constexpr std::size_t longest_target = 8'192;
constexpr std::size_t longest_name = 253;
constexpr std::size_t longest_label = 63;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
tl::unexpected<protocol::Failure> bad(std::string what) {
    return fail(Kind::invalid_argument, std::move(what));
}

// The rule by which URL parsers decide that a host is meant as a number: its last label.
bool ends_in_a_number(std::string_view name) {
    const auto dot = name.rfind('.');
    const std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
    if (last.starts_with("0x")) return true;
    return !last.empty() && std::all_of(last.begin(), last.end(), is_digit);
}

bool is_label(std::string_view label) {
    return !label.empty() && label.size() <= longest_label && label.front() != '-' &&
           label.back() != '-' && std::all_of(label.begin(), label.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
           });
}

Result<std::uint16_t> parse_port(std::string_view text) {
    unsigned port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size() || text.front() == '0' ||
        port > 65'535) {
        return bad("the port must be a number from 1 to 65535");
    }
    return static_cast<std::uint16_t>(port);
}

// "host", "host:port", "[v6]:port"; default_port 0: the port is required.
Result<void> parse_authority(std::string_view text, std::uint16_t default_port, Target& target) {
    if (text.find('@') != std::string_view::npos)
        return bad("user names do not belong into a proxy request");
    std::string_view host = text;
    std::string_view port;
    bool has_port = false;
    boost::system::error_code error;
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == std::string_view::npos) return bad("the address lacks its closing bracket");
        host = text.substr(1, close - 1);
        const std::string_view rest = text.substr(close + 1);
        if (!rest.empty() && rest.front() != ':')
            return bad("the address is followed by something else");
        has_port = !rest.empty();
        if (has_port) port = rest.substr(1);
        // A zone ("%eth0") names an interface of the host.
        if (host.find('%') != std::string_view::npos)
            return bad("addresses with a zone are not reachable");
        const auto address = boost::asio::ip::make_address_v6(host, error);
        if (error) return bad("not an IPv6 address");
        target.host = address.to_string();
        target.is_address = true;
    } else {
        const auto colon = text.find(':');
        has_port = colon != std::string_view::npos;
        host = text.substr(0, colon);
        if (has_port) port = text.substr(colon + 1);
        target.host = lower_case(host);
        if (target.host.ends_with('.')) target.host.pop_back();
        const auto address = boost::asio::ip::make_address_v4(target.host, error);
        target.is_address = !error && address.to_string() == target.host;
        if (!target.is_address && !is_host_name(target.host)) {
            return bad("neither a host name nor an address in its usual spelling");
        }
    }
    if (!has_port) {
        if (default_port == 0) return bad("CONNECT needs host and port");
        target.port = default_port;
        return {};
    }
    if (port.empty()) return bad("the port is empty");
    TRY(target.port, parse_port(port));
    return {};
}

}  // namespace

std::string lower_case(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return out;
}

std::string Target::authority() const {
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool is_host_name(std::string_view text) {
    if (text.empty() || text.size() > longest_name || ends_in_a_number(text)) return false;
    while (true) {
        const auto dot = text.find('.');
        if (!is_label(text.substr(0, dot))) return false;
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}

Result<Target> parse_target(std::string_view method, std::string_view text) {
    if (text.size() > longest_target) return bad("the address is longer than 8192 characters");
    if (!std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; })) {
        return bad("the address has characters that must be percent-encoded");
    }
    Target target;
    target.method = method;
    if (method == "CONNECT") {
        target.form = Target::Form::tunnel;
        TRY_VOID(parse_authority(text, 0, target));
        return target;
    }
    target.form = Target::Form::absolute;
    constexpr std::string_view scheme = "http://";
    if (lower_case(text.substr(0, scheme.size())) != scheme) {
        if (lower_case(text.substr(0, 8)) == "https://") {
            return bad("https goes through CONNECT, so that only the two ends can read it");
        }
        return bad("this is a proxy: it needs the whole address, http://host/path");
    }
    text.remove_prefix(scheme.size());
    if (text.find('#') != std::string_view::npos)
        return bad("a fragment (#) is not sent to a server");
    const auto path = text.find_first_of("/?");
    TRY_VOID(parse_authority(text.substr(0, path), 80, target));
    if (path != std::string_view::npos) target.path = text.substr(path);
    if (!target.path.starts_with('/')) target.path.insert(0, "/");
    return target;
}

}  // namespace host::egress
