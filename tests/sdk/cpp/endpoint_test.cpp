#include "sdk/cpp/endpoint.hpp"

#include <gtest/gtest.h>

namespace {

using sdk::Endpoint;
using sdk::parse_endpoint;

TEST(Endpoint, ReadsUnixSockets) {
    const auto endpoint = parse_endpoint("unix:///run/capsuled/api.sock");
    ASSERT_TRUE(endpoint);
    EXPECT_EQ(endpoint->family, Endpoint::Family::unix_socket);
    EXPECT_EQ(endpoint->path, "/run/capsuled/api.sock");
    EXPECT_EQ(endpoint->authority(), "localhost");
}

TEST(Endpoint, ReadsHostsAndPorts) {
    const auto named = parse_endpoint("http://build-host.example:8440/");
    ASSERT_TRUE(named);
    EXPECT_EQ(named->host, "build-host.example");
    EXPECT_EQ(named->port, 8440);
    EXPECT_EQ(named->url, "http://build-host.example:8440");

    const auto plain = parse_endpoint("http://127.0.0.1");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->port, 80);

    const auto six = parse_endpoint("http://[::1]:9000");
    ASSERT_TRUE(six);
    EXPECT_EQ(six->host, "::1");
    EXPECT_EQ(six->authority(), "[::1]:9000");
}

TEST(Endpoint, RefusesWhatIsNoAddress) {
    for (const char* url :
         {"", "/run/api.sock", "unix://relative.sock", "unix://", "https://host:1", "ftp://host",
          "http://", "http://-x", "http://host:", "http://host:0", "http://host:65536",
          "http://host:12a", "http://host/path", "http://us er", "http://[::1", "http://[::1]9000",
          "http://[::1]:", "http://[not-six]:1"}) {
        const auto endpoint = parse_endpoint(url);
        ASSERT_FALSE(endpoint) << url;
        EXPECT_NE(endpoint.error().message().find("unix:///path"), std::string::npos) << url;
    }
    EXPECT_FALSE(parse_endpoint("unix:///" + std::string(107, 'x')));
    EXPECT_TRUE(parse_endpoint("unix:///" + std::string(106, 'x')));
}

TEST(Endpoint, ResolvesWithoutAskingWhatNeedsNoAnswer) {
    EXPECT_EQ(sdk::resolve("192.0.2.7").value(), std::vector<std::string>{"192.0.2.7"});
    EXPECT_EQ(sdk::resolve("localhost").value().front(), "127.0.0.1");
}

TEST(Endpoint, SaysThatANameHasNoAddress) {
    const auto addresses = sdk::resolve("no-such-host.invalid");
    ASSERT_FALSE(addresses);
    EXPECT_NE(addresses.error().message().find("no-such-host.invalid"), std::string::npos);
}

}  // namespace
