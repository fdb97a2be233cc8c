// Plain HTTP and CONNECT through the real proxy: what arrives, what does not, and in what form.

#include "tests/host/egress/proxy_fixture.hpp"

#include <chrono>

namespace host::egress {
namespace {

const std::vector<std::string> loopback = {"127.0.0.0/8"};

TEST(ProxyHttp, PassesARequestOnInItsOwnWords) {
    Recorder recorder(ok("hello"));
    Server server(std::ref(recorder));
    Proxy proxy(loopback);
    const auto answer = proxy.ask(
        internet(), "GET " + server.url("/a?b=c") +
                        " HTTP/1.1\r\nHost: somebody.else\r\nX-Own: 1\r\nConnection: "
                        "keep-alive, X-Hop\r\nX-Hop: 2\r\nProxy-Authorization: Basic eDp5\r\n"
                        "Proxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: h2c\r\n\r\n");
    EXPECT_EQ(status_line(answer), "HTTP/1.1 200 OK");
    EXPECT_EQ(body_of(answer), "hello");
    ASSERT_EQ(recorder.requests().size(), 1u);
    const std::string request = recorder.requests()[0];
    EXPECT_EQ(status_line(request), "GET /a?b=c HTTP/1.1");
    EXPECT_TRUE(has(request, "Host: " + server.at("127.0.0.1") + "\r\n")) << request;
    EXPECT_TRUE(has(request, "X-Own: 1\r\n"));
    EXPECT_TRUE(has(request, "Connection: close\r\n"));
    for (const char* gone : {"somebody.else", "X-Hop", "Proxy-", "TE:", "Upgrade", "keep-alive"}) {
        EXPECT_FALSE(has(request, gone)) << gone << " in\n" << request;
    }
}

TEST(ProxyHttp, SaysTheLengthOfABodyWhateverConnectionSays) {
    Recorder recorder(ok("hello"));
    Server server(std::ref(recorder));
    Proxy proxy(loopback);
    const auto answer = proxy.ask(internet(), "POST " + server.url("/") +
                                                  " HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"
                                                  "Connection: close, content-length\r\n\r\nbody");
    EXPECT_EQ(status_line(answer), "HTTP/1.1 200 OK");
    ASSERT_EQ(recorder.requests().size(), 1u);
    EXPECT_TRUE(has(recorder.requests()[0], "Content-Length: 4\r\n")) << recorder.requests()[0];
}

TEST(ProxyHttp, ServesSeveralRequestsOnOneConnection) {
    Recorder recorder(ok("one"));
    Server server(std::ref(recorder));
    Proxy proxy(loopback);
    Stream guest = proxy.connect(internet());
    for (int i = 0; i < 3; ++i) {
        guest.send("GET " + server.url("/" + std::to_string(i)) + " HTTP/1.1\r\nHost: x\r\n\r\n");
        EXPECT_EQ(body_of(guest.read_answer()), "one");
    }
    // Sent together, as apt does.
    guest.send("GET " + server.url("/3") + " HTTP/1.1\r\nHost: x\r\n\r\nGET " + server.url("/4") +
               " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(body_of(guest.read_answer()), "one");
    EXPECT_EQ(body_of(guest.read_answer()), "one");
    EXPECT_EQ(recorder.requests().size(), 5u);
    EXPECT_EQ(server.connections(), 5);
}

TEST(ProxyHttp, StreamsBodiesOfUnknownLengthBothWays) {
    std::string uploaded;
    Server server([&](Stream& stream) {
        stream.read_until("\r\n\r\n");
        stream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        // Each piece of the request is answered before the next one comes.
        for (int i = 0; i < 3; ++i) {
            const std::string size = stream.read_until("\r\n");
            const std::string piece = stream.read_until("\r\n");
            uploaded += piece.substr(0, piece.size() - 2);
            stream.send("3\r\nok" + std::to_string(i) + "\r\n");
        }
        stream.read_until("0\r\n\r\n");
        stream.send("0\r\n\r\n");
    });
    Proxy proxy(loopback);
    Stream guest = proxy.connect(internet());
    guest.send("POST " + server.url("/") +
               " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    guest.send("5\r\nfirst\r\n");
    EXPECT_TRUE(has(guest.read_until("ok0"), "chunked"));
    guest.send("6\r\nsecond\r\n");
    EXPECT_TRUE(has(guest.read_until("ok1"), "ok1"));
    guest.send("5\r\nthird\r\n");
    guest.read_until("ok2");
    guest.send("0\r\n\r\n");
    EXPECT_TRUE(has(guest.read_until("0\r\n\r\n"), "0\r\n\r\n"));
    EXPECT_EQ(uploaded, "firstsecondthird");
}

TEST(ProxyHttp, CarriesLargeBodiesWhole) {
    const std::string large(16u << 20, 'x');
    Recorder recorder(ok(large));
    Server server(std::ref(recorder));
    Proxy proxy(loopback);
    Stream guest = proxy.connect(internet());
    guest.send("PUT " + server.url("/") + " HTTP/1.1\r\nHost: x\r\nContent-Length: " +
               std::to_string(large.size()) + "\r\n\r\n");
    ASSERT_TRUE(guest.send(large));
    EXPECT_EQ(body_of(guest.read_answer()).size(), large.size());
    EXPECT_EQ(body_of(recorder.requests().at(0)).size(), large.size());
}

TEST(ProxyHttp, AnswersThatEndWithTheConnectionAreWholeOrBroken) {
    Server whole([](Stream& stream) {
        stream.read_until("\r\n\r\n");
        stream.send("HTTP/1.0 200 OK\r\n\r\nuntil the end");
    });
    Server broken([](Stream& stream) {
        stream.read_until("\r\n\r\n");
        stream.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
    });
    Proxy proxy(loopback);
    Stream guest = proxy.connect(internet());
    guest.send("GET " + whole.url("/") + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(body_of(guest.read_answer()), "until the end");
    const auto old = proxy.ask(internet(), "GET " + whole.url("/") + " HTTP/1.0\r\n\r\n");
    EXPECT_EQ(body_of(old), "until the end");
    EXPECT_FALSE(has(old, "chunked"));
    EXPECT_EQ(
        body_of(proxy.ask(internet(), "GET " + broken.url("/") + " HTTP/1.1\r\nHost: x\r\n\r\n")),
        "only this");
}

TEST(ProxyHttp, HeadAndBodilessAnswersKeepTheConnection) {
    Server server([](Stream& stream) {
        const bool head = has(stream.read_until("\r\n\r\n"), "HEAD");
        stream.send(head ? "HTTP/1.1 200 OK\r\nContent-Length: 12345\r\nX-A: b\r\n\r\n"
                         : "HTTP/1.1 204 No Content\r\n\r\n");
    });
    Proxy proxy(loopback);
    Stream guest = proxy.connect(internet());
    guest.send("HEAD " + server.url("/") + " HTTP/1.1\r\nHost: x\r\n\r\n");
    const auto head = guest.read_until("\r\n\r\n");
    EXPECT_TRUE(has(head, "Content-Length: 12345"));
    guest.send("GET " + server.url("/") + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(status_line(guest.read_until("\r\n\r\n")), "HTTP/1.1 204 No Content");
}

TEST(ProxyHttp, ContinuesAClientThatExpectsIt) {
    Recorder recorder(ok("done"));
    Server server(std::ref(recorder));
    Proxy proxy(loopback);
    Stream guest = proxy.connect(internet());
    guest.send("POST " + server.url("/") +
               " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    EXPECT_EQ(guest.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    guest.send("body");
    EXPECT_EQ(body_of(guest.read_answer()), "done");
    EXPECT_FALSE(has(recorder.requests().at(0), "Expect"));
}

TEST(ProxyHttp, AnEarlyAnswerReachesAClientThatIsStillSending) {
    Server server([](Stream& stream) {
        stream.read_until("\r\n\r\n");
        stream.send("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!");
    });
    Proxy proxy(loopback);
    Stream guest = proxy.connect(internet());
    guest.send("POST " + server.url("/") +
               " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nsome");
    const auto answer = guest.read_all();
    EXPECT_EQ(status_line(answer), "HTTP/1.1 413 Too Large");
    EXPECT_EQ(body_of(answer), "no!");
}

TEST(ProxyHttp, TellsWhenAServerDoesNotAnswer) {
    Server silent([](Stream& stream) { stream.read_until("\r\n\r\n"); });
    Server other([](Stream& stream) { stream.send("SSH-2.0-OpenSSH\r\n"); });
    std::uint16_t closed_port = 0;
    {
        Server gone([](Stream&) {});
        closed_port = gone.port();
    }
    Proxy proxy(loopback);
    EXPECT_EQ(status_line(
                  proxy.ask(internet(), "GET " + silent.url("/") + " HTTP/1.1\r\nHost: x\r\n\r\n")),
              "HTTP/1.1 502 Bad Gateway");
    EXPECT_EQ(status_line(
                  proxy.ask(internet(), "GET " + other.url("/") + " HTTP/1.1\r\nHost: x\r\n\r\n")),
              "HTTP/1.1 502 Bad Gateway");
    const auto refused =
        proxy.ask(internet(), "GET http://127.0.0.1:" + std::to_string(closed_port) +
                                  "/ HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(status_line(refused), "HTTP/1.1 502 Bad Gateway");
    EXPECT_TRUE(has(refused, "Connection refused")) << refused;
}

TEST(ProxyHttp, ConnectCarriesBytesBothWaysAndHalfCloses) {
    std::string heard;
    Server server([&](Stream& stream) {
        heard = stream.read_all();  // until the guest has half-closed
        stream.send(std::string(1u << 20, 'z'));
    });
    Proxy proxy(loopback);
    Stream guest = proxy.connect(internet());
    // The first bytes come together with the request.
    guest.send("CONNECT " + server.at("127.0.0.1") + " HTTP/1.1\r\nHost: x\r\n\r\n\x16\x03\x01");
    EXPECT_EQ(status_line(guest.read_until("\r\n\r\n")), "HTTP/1.1 200 Connection established");
    guest.send("more");
    guest.half_close();
    EXPECT_EQ(guest.read_all().size(), 1u << 20);
    EXPECT_EQ(heard, "\x16\x03\x01more");
}

class Smuggling : public testing::TestWithParam<const char*> {};

TEST_P(Smuggling, IsRefusedBeforeAnythingIsSent) {
    Recorder recorder(ok("hello"));
    Server server(std::ref(recorder));
    Proxy proxy(loopback);
    const auto answer =
        proxy.ask(internet(), "POST " + server.url("/") + " HTTP/1.1\r\n" + GetParam() +
                                  "\r\n\r\n0\r\n\r\nGET " + server.url("/smuggled") +
                                  " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(status_line(answer), "HTTP/1.1 400 Bad Request") << answer;
    EXPECT_TRUE(recorder.requests().empty());
}

INSTANTIATE_TEST_SUITE_P(
    ProxyHttp, Smuggling,
    testing::Values(
        "Host: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
        "Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5",
        "Host: x\r\nContent-Length: 5\r\nContent-Length: 6",
        "Host: x\r\nContent-Length: 5\r\nContent-Length: 5", "Host: x\r\nContent-Length: 5, 5",
        "Host: x\r\nContent-Length: +5", "Host: x\r\nContent-Length: 0x5",
        "Host: x\r\nTransfer-Encoding: chunked, identity", "Host: x\r\nTransfer-Encoding: identity",
        "Host: x\r\nTransfer-Encoding: xchunked",
        "Host: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Host: x\r\nTransfer-Encoding : chunked", "Host: x\r\nHost: y\r\nContent-Length: 0",
        "Host: x\r\nX-A: b\x01"
        "c\r\nContent-Length: 0",
        "Host: x\r\n: empty\r\nContent-Length: 0",
        "Host: x\r\nExpect: 200-ok\r\nContent-Length: 0"));

TEST(ProxyHttp, RefusesWhatIsNoProxyRequest) {
    Proxy proxy(loopback);
    for (const char* request :
         {"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
          "GET https://x.example/ HTTP/1.1\r\nHost: x\r\n\r\n",
          "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n",
          "GET http://x.example/ HTTP/2.0\r\nHost: x\r\n\r\n", "\x16\x03\x01\x02 hello\r\n\r\n",
          "GET http://x.example/\r\n\r\n"}) {
        EXPECT_EQ(status_line(proxy.ask(internet(), request)), "HTTP/1.1 400 Bad Request")
            << request;
    }
}

TEST(ProxyHttp, BoundsHeaders) {
    Proxy proxy(loopback);
    const auto large =
        proxy.ask(internet(), "GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: x\r\nX-Large: " +
                                  std::string(100'000, 'x') + "\r\n\r\n");
    EXPECT_EQ(status_line(large), "HTTP/1.1 431 Request Header Fields Too Large");
    std::string many;
    for (int i = 0; i < 200; ++i) many += "X-" + std::to_string(i) + ": y\r\n";
    EXPECT_EQ(status_line(proxy.ask(
                  internet(), "GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: x\r\n" + many + "\r\n")),
              "HTTP/1.1 400 Bad Request");
}

}  // namespace
}  // namespace host::egress
