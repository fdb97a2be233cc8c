#include "host/egress/policy.hpp"

#include <gtest/gtest.h>

namespace host::egress {
namespace {

using What = Verdict::What;

Policy policy(std::string mode, std::vector<std::string> hosts = {}) {
    Policy made;
    made.network.mode = std::move(mode);
    made.network.hosts = std::move(hosts);
    made.sources.push_back(parse_source("http://mirror.example/debian").value());
    made.sources.push_back(parse_source("http://mirror.example:8080/security/").value());
    made.sources.push_back(parse_source("https://secure.example/debian/").value());
    return made;
}

Verdict ask(const Policy& rules, std::string_view method, std::string_view target) {
    return judge(rules, parse_target(method, target).value());
}

TEST(Policy, PackagesMeansTheSourcesExactly) {
    const auto rules = policy("packages");
    EXPECT_EQ(ask(rules, "GET", "http://mirror.example/debian/pool/a.deb").what, What::trusted);
    EXPECT_EQ(ask(rules, "HEAD", "http://mirror.example/debian/pool/a%2bb_1%3a2~3.deb").what,
              What::trusted);
    EXPECT_EQ(ask(rules, "GET", "http://mirror.example:8080/security/x").what, What::trusted);
    EXPECT_EQ(ask(rules, "CONNECT", "secure.example:443").what, What::trusted);
    const std::pair<const char*, const char*> refused[] = {
        {"POST", "http://mirror.example/debian/pool/a.deb"},
        {"PUT", "http://mirror.example/debian/x"},
        {"GET", "http://mirror.example/"},
        {"GET", "http://mirror.example/debian"},
        {"GET", "http://mirror.example/debian-other/x"},
        {"GET", "http://mirror.example/Debian/x"},
        {"GET", "http://mirror.example:81/debian/x"},
        {"GET", "http://mirror.example:8080/debian/x"},
        {"GET", "http://other.example/debian/x"},
        {"GET", "http://mirror.example.evil.org/debian/x"},
        {"GET", "http://mirror.example/debian/../private"},
        {"GET", "http://mirror.example/debian/./x"},
        {"GET", "http://mirror.example/debian/.."},
        {"GET", "http://mirror.example/debian/%2e%2e/private"},
        {"GET", "http://mirror.example/debian/.%2E/private"},
        {"GET", "http://mirror.example/debian/..%2fprivate"},
        {"GET", "http://mirror.example/debian/..\\private"},
        {"GET", "http://mirror.example/debian/x?upload=secret"},
        {"GET", "http://secure.example/debian/x"},
        {"GET", "http://secure.example:443/debian/x"},
        {"CONNECT", "mirror.example:80"},
        {"CONNECT", "mirror.example:443"},
        {"CONNECT", "secure.example:8443"},
    };
    for (const auto& [method, target] : refused) {
        const auto verdict = ask(rules, method, target);
        EXPECT_EQ(verdict.what, What::refused) << method << ' ' << target;
        EXPECT_NE(verdict.why.find("network = \"packages\""), std::string::npos);
    }
}

TEST(Policy, TellsWhatToChange) {
    const auto verdict = ask(policy("packages"), "GET", "http://example.org/");
    EXPECT_NE(verdict.why.find("http://mirror.example/debian/"), std::string::npos) << verdict.why;
    EXPECT_NE(verdict.why.find("network = [ \"example.org\" ]"), std::string::npos) << verdict.why;
    const auto by_list = ask(policy("hosts", {"a.example"}), "GET", "http://example.org/");
    EXPECT_NE(by_list.why.find("\"a.example\""), std::string::npos) << by_list.why;
}

TEST(Policy, HostListsMatchNamesExactlyAndSuffixesByLabel) {
    const auto rules = policy("hosts", {"api.example.org", "*.example.net"});
    EXPECT_EQ(ask(rules, "POST", "http://api.example.org/x?y").what, What::if_reachable);
    EXPECT_EQ(ask(rules, "CONNECT", "API.example.org.:443").what, What::if_reachable);
    EXPECT_EQ(ask(rules, "GET", "http://a.b.example.net/").what, What::if_reachable);
    for (const char* target :
         {"http://example.org/", "http://x.api.example.org/", "http://example.net/",
          "http://badexample.net/", "http://example.net.evil.org/", "http://93.184.216.34/"}) {
        EXPECT_EQ(ask(rules, "GET", target).what, What::refused) << target;
    }
    // Packages still install.
    EXPECT_EQ(ask(rules, "GET", "http://mirror.example/debian/x").what, What::trusted);
    EXPECT_EQ(ask(rules, "POST", "http://mirror.example/debian/x").what, What::refused);
}

TEST(Policy, InternetMeansAnyName) {
    const auto rules = policy("internet");
    EXPECT_EQ(ask(rules, "DELETE", "http://example.org/").what, What::if_reachable);
    EXPECT_EQ(ask(rules, "CONNECT", "93.184.216.34:443").what, What::if_reachable);
    EXPECT_EQ(ask(rules, "POST", "http://mirror.example/debian/x").what, What::if_reachable);
    EXPECT_EQ(ask(rules, "GET", "http://mirror.example/debian/x").what, What::trusted);
}

TEST(Policy, NoneAndTheUnknownReachNothing) {
    for (const char* mode : {"none", "", "everything"}) {
        EXPECT_EQ(ask(policy(mode), "GET", "http://mirror.example/debian/x").what, What::refused)
            << mode;
    }
}

TEST(PackageSource, IsReadFromItsUrl) {
    const auto source = parse_source("https://Mirror.Example/debian").value();
    EXPECT_EQ(source.scheme, "https");
    EXPECT_EQ(source.host, "mirror.example");
    EXPECT_EQ(source.port, 443);
    EXPECT_EQ(source.path, "/debian/");
    EXPECT_EQ(parse_source("https://m.example:8443/d/").value().port, 8443);
    EXPECT_EQ(parse_source("http://m.example").value().path, "/");
    for (const char* wrong : {"", "mirror", "ftp://m.example/", "cdrom:[x]/", "http://u@m.example/",
                              "http://m.example/../x", "http://m.example/?q"}) {
        EXPECT_FALSE(parse_source(wrong)) << wrong;
    }
}

}  // namespace
}  // namespace host::egress
