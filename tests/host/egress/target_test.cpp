#include "host/egress/target.hpp"

#include <gtest/gtest.h>

namespace host::egress {
namespace {

TEST(Target, ReadsAbsoluteForm) {
    const auto target = parse_target("GET", "http://Example.ORG/a/b?c=d").value();
    EXPECT_EQ(target.host, "example.org");
    EXPECT_EQ(target.port, 80);
    EXPECT_EQ(target.path, "/a/b?c=d");
    EXPECT_FALSE(target.is_address);
    EXPECT_EQ(target.authority(), "example.org:80");
}

TEST(Target, FillsInThePath) {
    EXPECT_EQ(parse_target("GET", "http://example.org").value().path, "/");
    EXPECT_EQ(parse_target("GET", "http://example.org:8080").value().port, 8080);
    EXPECT_EQ(parse_target("GET", "http://example.org?q").value().path, "/?q");
    EXPECT_EQ(parse_target("GET", "HTTP://example.org./x").value().host, "example.org");
}

TEST(Target, ReadsConnect) {
    const auto target = parse_target("CONNECT", "example.org:443").value();
    EXPECT_EQ(target.form, Target::Form::tunnel);
    EXPECT_EQ(target.host, "example.org");
    EXPECT_EQ(target.port, 443);
    EXPECT_FALSE(parse_target("CONNECT", "example.org"));
    EXPECT_FALSE(parse_target("CONNECT", "http://example.org:443"));
    EXPECT_FALSE(parse_target("CONNECT", "example.org:443/x"));
}

TEST(Target, ReadsAddresses) {
    EXPECT_TRUE(parse_target("GET", "http://192.0.2.1/").value().is_address);
    const auto v6 = parse_target("GET", "http://[2001:DB8:0::1]:81/").value();
    EXPECT_TRUE(v6.is_address);
    EXPECT_EQ(v6.host, "2001:db8::1");
    EXPECT_EQ(v6.authority(), "[2001:db8::1]:81");
    EXPECT_EQ(parse_target("CONNECT", "[::1]:443").value().host, "::1");
    // Mapped addresses stay what they are, to be refused as such.
    EXPECT_EQ(parse_target("GET", "http://[::ffff:7f00:1]/").value().host, "::ffff:127.0.0.1");
}

class Unreadable : public testing::TestWithParam<const char*> {};

TEST_P(Unreadable, IsRefused) {
    EXPECT_FALSE(parse_target("GET", GetParam())) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Target, Unreadable,
    testing::Values("", "/", "*", "example.org", "https://example.org/", "ftp://example.org/",
                    "http:/example.org/", "http://", "http:///x", "http://:80/",
                    "http://user@example.org/", "http://a:b@example.org/", "http://example.org:/",
                    "http://example.org:0/", "http://example.org:080/", "http://example.org:65536/",
                    "http://example.org:80x/", "http://example.org:80:81/", "http://example.org/#f",
                    "http://example.org#f", "http://exam ple.org/", "http://example.org/a b",
                    "http://example.org/\x01", "http://example.org/\xC3\xA4", "http://2130706433/",
                    "http://0x7f000001/", "http://0x7f.1/", "http://127.1/", "http://127.0.1/",
                    "http://0177.0.0.1/", "http://127.0.0.01/", "http://1.2.3.4.5/",
                    "http://example.1/", "http://[::1/", "http://[::1]x/",
                    "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[127.0.0.1]/",
                    "http://[]/", "http://-a.example/", "http://a..example/", "http://.example/",
                    "http://ex%61mple.org/", "http://example.org\\@evil.org/"));

TEST(Target, BoundsItsLength) {
    EXPECT_FALSE(parse_target("GET", "http://example.org/" + std::string(9'000, 'x')));
    EXPECT_FALSE(parse_target("GET", "http://" + std::string(64, 'a') + ".org/"));
    EXPECT_TRUE(parse_target("GET", "http://" + std::string(63, 'a') + ".org/"));
}

}  // namespace
}  // namespace host::egress
