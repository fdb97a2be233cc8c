// The machine's own Debian mirror, once, with curl, under the default policy.

#include "tests/host/egress/proxy_fixture.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <regex>
#include <sys/socket.h>

namespace host::egress {
namespace {

// The first http source of the machine, or "".
std::string first_source() {
    std::vector<std::filesystem::path> files = {"/etc/apt/sources.list"};
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator("/etc/apt/sources.list.d", error)) {
        files.push_back(entry.path());
    }
    const std::regex source(R"(^(?:URIs:|deb)\s.*?(http://[^\s/]+/\S*debian/?)(?:\s|$).*)");
    for (const auto& path : files) {
        std::ifstream file(path);
        for (std::string line; std::getline(file, line);) {
            std::smatch found;
            if (std::regex_match(line, found, source)) return found[1];
        }
    }
    return "";
}

std::string output_of(const std::string& command) {
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::string text;
    std::array<char, 4096> piece{};
    while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), pipe))
        text.append(piece.data(), size);
    ::pclose(pipe);
    return text;
}

TEST(ProxyMirror, CurlFetchesAReleaseFileAndNothingBesides) {
    const std::string source = first_source();
    if (source.empty()) GTEST_SKIP() << "the machine's apt sources name no http mirror of Debian";
    const std::string base = source.ends_with('/') ? source : source + "/";
    const std::string release = base + "dists/stable/Release";
    if (output_of("curl -sS -o /dev/null -m 20 -w '%{http_code}' --noproxy '*' -I " + release +
                  " 2>/dev/null") != "200") {
        GTEST_SKIP() << "the machine's mirror " << base << " cannot be reached from here";
    }
    // A TCP door to the proxy: each accepted connection is handed over as the daemon hands over
    // tunnels.
    Proxy proxy;
    const auto policy = packages(base);
    const protocol::UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof in;
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&in), size), 0);
    ASSERT_EQ(::listen(listener.get(), 8), 0);
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&in), &size);
    std::thread door([&] {
        for (;;) {
            const protocol::UniqueFd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!fd) return;
            proxy.hand_over(policy, fd.get());
        }
    });
    const std::string curl =
        "curl -sS -m 60 -x http://127.0.0.1:" + std::to_string(ntohs(in.sin_port)) + " ";
    const std::string text = output_of(curl + release);
    EXPECT_NE(text.find("Codename:"), std::string::npos) << text.substr(0, 500);
    EXPECT_EQ(output_of(curl + "-o /dev/null -w '%{http_code}' -d x=y " + release), "403");
    EXPECT_EQ(output_of(curl + "-o /dev/null -w '%{http_code}' http://example.org/"), "403");
    ::shutdown(listener.get(), SHUT_RDWR);
    door.join();
}

}  // namespace
}  // namespace host::egress
