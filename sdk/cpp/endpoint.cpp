#include "sdk/cpp/endpoint.hpp"

#include "protocol/base/name.hpp"
#include "protocol/base/unique_fd.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <fcntl.h>
#include <spawn.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sdk {
namespace {

using protocol::fail;
using protocol::Kind;

constexpr std::string_view unix_scheme = "unix://";
constexpr std::string_view http_scheme = "http://";

tl::unexpected<protocol::Failure> bad_url(std::string_view url, const std::string& why) {
    return fail(Kind::invalid_argument, "'" + protocol::escape_foreign(url) +
                                            "' is not an address: " + why +
                                            "; write unix:///path/to/socket or http://host:port");
}

bool is_host_name(std::string_view host) {
    return !host.empty() && host.size() <= 253 && host.front() != '-' &&
           std::all_of(host.begin(), host.end(), [](unsigned char c) {
               return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
           });
}

bool is_numeric(const std::string& host) {
    std::array<unsigned char, sizeof(in6_addr)> bytes;
    return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// Standard output of `getent ahosts HOST`, at most 64 KiB.
Result<std::string> ask_getent(const std::string& host) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return fail(protocol::Failure::from_errno("pipe2", errno));
    }
    protocol::UniqueFd reader(ends[0]);
    protocol::UniqueFd writer(ends[1]);

    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, writer.get(), STDOUT_FILENO);
    std::string program = "getent", database = "ahosts", name = host;
    std::array<char*, 4> argv{program.data(), database.data(), name.data(), nullptr};
    pid_t pid = -1;
    const int error = ::posix_spawnp(&pid, "getent", &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return fail(protocol::Failure::from_errno("start getent", error));
    writer.reset();

    std::string text;
    std::array<char, 4096> buffer;
    while (text.size() < (64u << 10)) {
        const ssize_t count = ::read(reader.get(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    reader.reset();
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return text;
}

}  // namespace

std::string Endpoint::authority() const {
    if (family == Family::unix_socket) return "localhost";
    const bool bracket = host.find(':') != std::string::npos;
    return (bracket ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Endpoint> parse_endpoint(std::string_view url) {
    Endpoint endpoint;
    if (url.starts_with(unix_scheme)) {
        endpoint.family = Endpoint::Family::unix_socket;
        endpoint.path = url.substr(unix_scheme.size());
        if (!endpoint.path.starts_with('/')) return bad_url(url, "the path must be absolute");
        if (endpoint.path.find('\0') != std::string::npos)
            return bad_url(url, "it has a zero byte");
        if (endpoint.path.size() >= sizeof(sockaddr_un::sun_path)) {
            return bad_url(url, "a socket's path has at most 107 bytes");
        }
        endpoint.url = url;
        return endpoint;
    }
    if (!url.starts_with(http_scheme)) {
        const bool https = url.starts_with("https://");
        return bad_url(url, https ? "https is not spoken here, put a TLS proxy in front"
                                  : "it has no known scheme");
    }

    endpoint.family = Endpoint::Family::tcp;
    std::string_view rest = url.substr(http_scheme.size());
    if (rest.ends_with('/')) rest.remove_suffix(1);
    std::string_view port;
    if (rest.starts_with('[')) {
        const auto close = rest.find(']');
        if (close == std::string_view::npos) return bad_url(url, "']' is missing");
        endpoint.host = rest.substr(1, close - 1);
        if (!is_numeric(endpoint.host)) return bad_url(url, "the address is not IPv6");
        rest.remove_prefix(close + 1);
        if (!rest.empty() && rest.front() != ':') return bad_url(url, "':' must follow ']'");
        if (!rest.empty()) port = rest.substr(1);
        if (!rest.empty() && port.empty()) return bad_url(url, "the port is empty");
    } else {
        const auto colon = rest.find(':');
        endpoint.host = rest.substr(0, colon);
        if (!is_host_name(endpoint.host)) return bad_url(url, "the host is not a name or address");
        if (colon != std::string_view::npos) {
            port = rest.substr(colon + 1);
            if (port.empty()) return bad_url(url, "the port is empty");
        }
    }
    if (!port.empty()) {
        const auto [end, error] =
            std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
        if (error != std::errc{} || end != port.data() + port.size() || endpoint.port == 0) {
            return bad_url(url, "the port is not a number from 1 to 65535");
        }
    }
    endpoint.url = std::string(http_scheme) + endpoint.authority();
    return endpoint;
}

Result<std::vector<std::string>> resolve(const std::string& host) {
    if (is_numeric(host)) return std::vector<std::string>{host};
    if (host == "localhost") return std::vector<std::string>{"127.0.0.1", "::1"};
    TRY(const std::string text, ask_getent(host));
    std::vector<std::string> addresses;
    for (std::size_t start = 0; start < text.size();) {
        const auto end = std::min(text.find('\n', start), text.size());
        const std::string line = text.substr(start, end - start);
        start = end + 1;
        std::string address = line.substr(0, line.find_first_of(" \t"));
        if (is_numeric(address) &&
            std::find(addresses.begin(), addresses.end(), address) == addresses.end()) {
            addresses.push_back(std::move(address));
        }
    }
    if (addresses.empty()) {
        return fail(Kind::unavailable, "the name '" + host + "' has no address");
    }
    return addresses;
}

}  // namespace sdk
