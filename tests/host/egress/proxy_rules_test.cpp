// The rules as the real proxy keeps them, and how it is confined.

#include "host/egress/address_rules.hpp"
#include "host/egress/proxy/decision_log.hpp"
#include "host/egress/proxy/limits.hpp"
#include "protocol/base/ids.hpp"
#include "tests/host/egress/proxy_fixture.hpp"

#include <fstream>
#include <signal.h>
#include <sstream>
#include <unistd.h>

namespace host::egress {
namespace {

std::string get(const std::string& url) {
    return "GET " + url + " HTTP/1.1\r\nHost: x\r\n\r\n";
}

TEST(ProxyRules, NoSpellingOfThisHostIsReached) {
    Recorder recorder(ok("secret of the host"));
    Server server(std::ref(recorder), "0.0.0.0");
    Proxy proxy;
    std::vector<std::string> spellings = {"127.0.0.1",
                                          "localhost",
                                          "LOCALHOST.",
                                          "127.0.0.2",
                                          "0.0.0.0",
                                          "[::1]",
                                          "[::]",
                                          "[::ffff:127.0.0.1]",
                                          "[::ffff:7f00:1]",
                                          "[::127.0.0.1]",
                                          "[64:ff9b::7f00:1]",
                                          "[2002:7f00:1::]",
                                          "2130706433",
                                          "0x7f000001",
                                          "0177.0.0.1",
                                          "127.1",
                                          "127.0.1",
                                          "0",
                                          "169.254.169.254",
                                          "10.0.0.1",
                                          "192.168.0.1",
                                          "172.16.0.1",
                                          "100.64.0.1",
                                          "224.0.0.1",
                                          "255.255.255.255",
                                          "[fe80::1]",
                                          "[fd00::2]",
                                          "[ff02::1]"};
    for (const OwnAddress& own : own_addresses()) {
        const std::string text = own.address.to_string();
        if (!has(text, "%")) spellings.push_back(own.address.is_v6() ? "[" + text + "]" : text);
    }
    for (const std::string& host : spellings) {
        const auto plain = proxy.ask(internet(), get("http://" + server.at(host) + "/"));
        EXPECT_TRUE(status_of(plain) == 403 || status_of(plain) == 400 || status_of(plain) == 502)
            << host << plain;
        const auto web = proxy.ask(internet(), get("http://" + host + "/"));
        EXPECT_NE(status_of(web), 200) << host;
        const auto tunnel =
            proxy.ask(internet(), "CONNECT " + server.at(host) + " HTTP/1.1\r\n\r\n");
        EXPECT_NE(status_of(tunnel), 200) << host;
    }
    EXPECT_EQ(server.connections(), 0);
}

TEST(ProxyRules, ARefusalSaysWhyAndWhatToChange) {
    Proxy proxy;
    const auto literal = proxy.ask(internet(), get("http://127.0.0.1/"));
    EXPECT_EQ(status_of(literal), 403);
    EXPECT_TRUE(has(literal, "127.0.0.1 is an address of this host")) << literal;
    EXPECT_TRUE(has(literal, "egress-allow")) << literal;
    const auto metadata = proxy.ask(internet(), get("http://169.254.169.254/latest/"));
    EXPECT_TRUE(has(metadata, "link-local")) << metadata;
    const auto by_policy =
        proxy.ask(packages("http://mirror.example/debian/"), get("http://example.org/"));
    EXPECT_EQ(status_of(by_policy), 403);
    EXPECT_TRUE(has(by_policy, "network = \"packages\"")) << by_policy;
    const auto connect = proxy.ask(packages("http://mirror.example/debian/"),
                                   "CONNECT example.org:443 HTTP/1.1\r\n\r\n");
    EXPECT_EQ(status_of(connect), 403);
}

TEST(ProxyRules, AnOperatorsRangeIsReachedOnAllPortsAndNothingElseIs) {
    Recorder recorder(ok("allowed"));
    Server allowed(std::ref(recorder), "127.0.7.1");
    Server other(std::ref(recorder), "127.0.8.1");
    Proxy proxy({"127.0.7.0/24"});
    EXPECT_TRUE(
        has(proxy.ask(internet(), get("http://" + allowed.at("127.0.7.1") + "/")), "allowed"));
    EXPECT_EQ(status_of(proxy.ask(internet(), get("http://" + other.at("127.0.8.1") + "/"))), 403);
    EXPECT_EQ(
        status_of(proxy.ask(internet(), get("http://" + allowed.at("[::ffff:127.0.7.1]") + "/"))),
        403);
    EXPECT_EQ(other.connections(), 0);
}

TEST(ProxyRules, PackageSourcesAreReachedWhateverTheirAddress) {
    Recorder recorder(ok("package"));
    Server mirror(std::ref(recorder));
    Proxy proxy;
    const auto policy = packages(mirror.url("/debian/"));
    EXPECT_TRUE(has(proxy.ask(policy, get(mirror.url("/debian/pool/x.deb"))), "package"));
    EXPECT_EQ(status_of(proxy.ask(
                  policy, "HEAD " + mirror.url("/debian/x") + " HTTP/1.1\r\nHost: x\r\n\r\n")),
              200);
    EXPECT_EQ(status_of(proxy.ask(policy, get(mirror.url("/private")))), 403);
    EXPECT_EQ(status_of(proxy.ask(policy, get(mirror.url("/debian/%2e%2e/private")))), 403);
    EXPECT_EQ(status_of(proxy.ask(policy, "POST " + mirror.url("/debian/x") +
                                              " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")),
              403);
    EXPECT_EQ(
        status_of(proxy.ask(policy, "CONNECT " + mirror.at("127.0.0.1") + " HTTP/1.1\r\n\r\n")),
        403);
    EXPECT_EQ(mirror.connections(), 2);
    // Under "internet" the same server is the host again, except for its packages.
    auto wide = policy;
    wide.network.mode = "internet";
    EXPECT_EQ(status_of(proxy.ask(wide, get(mirror.url("/private")))), 403);
    EXPECT_EQ(status_of(proxy.ask(wide, get(mirror.url("/debian/x")))), 200);
}

TEST(ProxyRules, HostListsJudgeTheAddressTooAndItsPorts) {
    Recorder recorder(ok("host"));
    Server server(std::ref(recorder));
    Proxy strict;
    EXPECT_EQ(
        status_of(strict.ask(hosts({"localhost"}), get("http://" + server.at("localhost") + "/"))),
        403);
    EXPECT_EQ(status_of(strict.ask(hosts({"localhost"}), get("http://localhost/"))), 403);
    Proxy open({"127.0.0.0/8", "::1"});
    EXPECT_EQ(
        status_of(open.ask(hosts({"localhost"}), get("http://" + server.at("localhost") + "/"))),
        200);
    EXPECT_EQ(
        status_of(open.ask(hosts({"*.localhost"}), get("http://" + server.at("localhost") + "/"))),
        403);
}

TEST(ProxyRules, NamesThatDoNotResolveAreToldApart) {
    Proxy proxy;
    const auto answer = proxy.ask(internet(), get("http://no-such-name.invalid/"));
    EXPECT_TRUE(status_of(answer) == 502 || status_of(answer) == 503) << answer;
    EXPECT_TRUE(has(answer, "no-such-name.invalid")) << answer;
}

TEST(ProxyRules, ARunHasSoManyConnections) {
    Proxy proxy;
    const std::string run = protocol::RunId::random().str();
    std::vector<Stream> open;
    for (std::size_t i = 0; i < limits::connections_per_run; ++i)
        open.push_back(proxy.connect(internet(), run));
    Stream one_more = proxy.connect(internet(), run);
    EXPECT_TRUE(has(one_more.read_all(), "503"));
    // Another run is not concerned.
    EXPECT_EQ(status_of(proxy.ask(internet(), get("http://127.0.0.1/"))), 403);
}

TEST(ProxyRules, RunsWithoutRightsAndEndsWithItsDaemon) {
    Proxy proxy;
    proxy.ask(internet(), get("http://127.0.0.1/"));  // it has come up
    std::ifstream file("/proc/" + std::to_string(proxy.pid()) + "/status");
    std::ostringstream text;
    text << file.rdbuf();
    const std::string status = text.str();
    EXPECT_TRUE(has(status, "NoNewPrivs:\t1")) << status;
    for (const char* set : {"CapPrm", "CapEff", "CapInh", "CapAmb"}) {
        EXPECT_TRUE(has(status, std::string(set) + ":\t0000000000000000")) << set;
    }
    if (::geteuid() == 0) {
        EXPECT_TRUE(has(status, "Uid:\t65534\t65534\t65534\t65534"));
        EXPECT_TRUE(has(status, "Groups:\t \n")) << status;
        EXPECT_TRUE(has(status, "CapBnd:\t0000000000000000"));
    }
    EXPECT_EQ(proxy.stop(), 0);
}

TEST(DecisionLog, LeavesOutWhatIsTooMuchAndComesBack) {
    DecisionLog log;
    auto now = DecisionLog::Clock::now();
    int admitted = 0;
    for (int i = 0; i < 1'000; ++i) admitted += log.admits("run", now) ? 1 : 0;
    EXPECT_EQ(admitted, static_cast<int>(limits::log_burst));
    EXPECT_TRUE(log.admits("another", now));
    now += std::chrono::seconds(1);
    admitted = 0;
    for (int i = 0; i < 1'000; ++i) admitted += log.admits("run", now) ? 1 : 0;
    EXPECT_EQ(admitted, static_cast<int>(limits::log_lines_per_second));
}

}  // namespace
}  // namespace host::egress
