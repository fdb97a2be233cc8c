#pragma once
// Target: where a proxy request wants to go, read strictly from its request line. Pure. What does
// not have exactly one reading is refused, because the server behind would be free to choose
// another one.

#include "protocol/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace host::egress {

using protocol::Result;

struct Target {
    Target() = default;
    enum class Form : std::uint8_t { absolute, tunnel };  // GET http://host/path, CONNECT host:443
    Form form{};
    std::string method;
    std::string host;  // lower-case name without a final dot, or an address without brackets
    std::uint16_t port{};
    std::string path;  // with query, from "/"; empty for a tunnel
    bool is_address = false;

    std::string authority() const;  // "host:port", with brackets where they belong
};

// invalid_argument with a text for the person behind the request.
Result<Target> parse_target(std::string_view method, std::string_view text);

// ASCII letters; names on the wire have no others.
std::string lower_case(std::string_view text);

// A lower-case DNS name, or nothing that a resolver could take for an address ("127.1",
// "0x7f000001").
bool is_host_name(std::string_view text);

}  // namespace host::egress
