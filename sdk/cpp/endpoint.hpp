#pragma once
// Endpoint: where a daemon listens, as MAITENTO_URL writes it: "unix:///run/capsuled/api.sock" or
// "http://host:port". Used by the client library and named in its errors. A plain value.

#include "protocol/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sdk {

using protocol::Result;

inline constexpr char default_url[] = "unix:///run/capsuled/api.sock";

struct Endpoint {
    enum class Family : std::uint8_t { unix_socket, tcp } family{};
    std::string path;         // unix_socket: absolute
    std::string host;         // tcp: a name or a numeric address, without brackets
    std::uint16_t port = 80;  // tcp
    std::string url;          // normalised, for errors

    // What the Host header says.
    std::string authority() const;
};

// invalid_argument with what to write instead.
Result<Endpoint> parse_endpoint(std::string_view url);

// Numeric addresses of `host`: itself if it is numeric, loopback for "localhost", else what the
// system's getent(1) says. A static program cannot load the name service modules itself.
Result<std::vector<std::string>> resolve(const std::string& host);

}  // namespace sdk
