#include "tests/host/api/harness.hpp"

#include <gmock/gmock.h>

namespace host::api::testing {
namespace {

using ::testing::HasSubstr;

TEST(Connection, AnswersSeveralRequestsInTurn) {
    Harness host;
    auto client = host.connect();
    EXPECT_EQ(client.request("GET", "/health").status, 200);
    EXPECT_EQ(client.request("GET", "/v1/namespaces").status, 200);
    EXPECT_EQ(client.request("GET", "/nowhere").status, 404);
    EXPECT_EQ(client.request("GET", "/health").status, 200);
}

TEST(Connection, AnswersPipelinedRequestsInOrder) {
    Harness host;
    auto client = host.connect();
    client.send(
        "GET /health HTTP/1.1\r\n\r\nPOST /v1/namespaces HTTP/1.1\r\nContent-Length: "
        "12\r\n\r\n{\"name\":\"ab\"}"
        "GET /nowhere HTTP/1.1\r\n\r\n");
    // The second body is one byte longer than it says: the third request begins inside of it.
    EXPECT_EQ(client.read_reply().status, 200);
    EXPECT_EQ(client.read_reply().status, 400);
    EXPECT_EQ(client.read_reply().status, 400);
    EXPECT_TRUE(client.at_end());
    auto other = host.connect();
    other.send(
        "GET /health HTTP/1.1\r\n\r\nPOST /v1/namespaces HTTP/1.1\r\nContent-Length: "
        "13\r\n\r\n{\"name\":\"ab\"}"
        "GET /nowhere HTTP/1.1\r\n\r\n");
    EXPECT_EQ(other.read_reply().status, 200);
    EXPECT_EQ(other.read_reply().status, 201);
    EXPECT_EQ(other.read_reply().status, 404);
}

TEST(Connection, ClosesWhenAsked) {
    Harness host;
    auto client = host.connect();
    const auto reply = client.request("GET", "/health", "", "Connection: close\r\n");
    EXPECT_EQ(reply.fields.at("connection"), "close");
    EXPECT_TRUE(client.at_end());
    auto old = host.connect();
    old.send("GET /health HTTP/1.0\r\n\r\n");
    EXPECT_EQ(old.read_reply().status, 200);
    EXPECT_TRUE(old.at_end());
}

TEST(Connection, HeadHasTheLengthAndNoBody) {
    Harness host;
    auto client = host.connect();
    const auto reply = client.request("HEAD", "/health");
    EXPECT_EQ(reply.status, 200);
    EXPECT_NE(reply.fields.at("content-length"), "0");
    EXPECT_EQ(client.request("GET", "/health").status, 200);
}

TEST(Connection, GetMayHaveABody) {
    Harness host;
    auto client = host.connect();
    EXPECT_EQ(client.request("GET", "/health", "{\"x\":1}").status, 200);
    EXPECT_EQ(client.request("GET", "/health").status, 200);
}

TEST(Connection, UnknownPathsAndMethods) {
    Harness host;
    EXPECT_EQ(host.request("GET", "/v1/nothing").code(), "not-found");
    EXPECT_EQ(host.request("GET", "/").code(), "not-found");
    const auto reply = host.request("DELETE", "/v1/namespaces");
    EXPECT_EQ(reply.status, 405);
    EXPECT_EQ(reply.fields.at("allow"), "GET, HEAD, POST");
    EXPECT_EQ(reply.code(), "method-not-allowed");
    EXPECT_EQ(host.request("BREW", "/v1/namespaces").status, 405);
}

TEST(Connection, RefusesMalformedTargetsAndQueries) {
    Harness host;
    for (const char* target : {"/v1/../health", "/v1/%zz", "/health?x=%1", "/v1//namespaces"}) {
        EXPECT_EQ(host.request("GET", target).code(), "invalid-request") << target;
    }
    EXPECT_EQ(host.request("GET", "/v1/runs?limt=1").code(), "unknown-member");
    EXPECT_EQ(host.request("GET", "/v1/runs?limit=1&limit=2").code(), "invalid-request");
    EXPECT_EQ(host.request("GET", "/v1/runs?limit=0").code(), "invalid-request");
    EXPECT_EQ(host.request("GET", "/v1/runs?limit=1001").code(), "invalid-request");
    EXPECT_EQ(host.request("GET", "/v1/runs?live=yes").code(), "invalid-request");
    EXPECT_EQ(host.request("GET", "/v1/runs?status=running").code(), "invalid-request");
}

TEST(Connection, RefusesBodiesThatAreNoGoodJson) {
    Harness host;
    const auto post = [&](std::string_view body) {
        return host.request("POST", "/v1/namespaces", body);
    };
    EXPECT_EQ(post("{\"name\":").code(), "invalid-request");
    EXPECT_EQ(post(std::string(100'000, '[')).code(), "invalid-request");
    EXPECT_EQ(post("{\"name\":\"a\",\"name\":\"b\"}").code(), "invalid-request");
    EXPECT_EQ(post("{\"name\":\"a\",\"nam\":\"b\"}").code(), "unknown-member");
    EXPECT_EQ(post("{\"name\":1}").code(), "invalid-request");
    EXPECT_EQ(post("{}").code(), "invalid-request");
    EXPECT_EQ(post("{\"name\":\"a\"} x").code(), "invalid-request");
    EXPECT_EQ(post("{\"name\":\"\xFF\"}").code(), "invalid-request");
    EXPECT_EQ(post("{\"name\":\"../etc\"}").code(), "invalid-name");
    EXPECT_EQ(host.request("GET", "/health").status, 200);
}

TEST(Connection, RefusesALargeBodyBeforeItIsSent) {
    Harness host;
    auto client = host.connect();
    client.send("POST /v1/namespaces HTTP/1.1\r\nContent-Length: 209715200\r\n\r\n");
    const auto reply = client.read_reply();
    EXPECT_EQ(reply.status, 413);
    EXPECT_EQ(reply.code(), "too-large");
    EXPECT_EQ(reply.fields.at("connection"), "close");
    client.send(std::string(1u << 20, 'x'));  // a client that sends all the same
    EXPECT_TRUE(client.at_end());
}

TEST(Connection, RefusesALargeChunkedBodyEarly) {
    Harness host;
    auto client = host.connect();
    client.send("POST /v1/namespaces HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
    for (int i = 0; i < 20; ++i) client.send(chunk);
    EXPECT_EQ(client.read_reply().status, 413);
    EXPECT_TRUE(client.at_end());
}

TEST(Connection, AcceptsAChunkedBody) {
    Harness host;
    auto client = host.connect();
    client.send(
        "POST /v1/namespaces HTTP/1.1\r\nTransfer-Encoding: "
        "chunked\r\n\r\n5\r\n{\"nam\r\n7\r\ne\":\"a\"}\r\n0\r\n\r\n");
    EXPECT_EQ(client.read_reply().status, 201);
    EXPECT_EQ(client.request("GET", "/health").status, 200);
}

TEST(Connection, SaysContinueOnlyToABodyItWants) {
    Harness host;
    auto client = host.connect();
    client.send(
        "POST /v1/namespaces HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 12\r\n\r\n");
    EXPECT_EQ(client.read_head().status, 100);
    client.send("{\"name\":\"a\"}");
    EXPECT_EQ(client.read_reply().status, 201);
    client.send(
        "POST /v1/namespaces HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 20000000\r\n\r\n");
    EXPECT_EQ(client.read_reply().status, 413);
}

TEST(Connection, EndsASlowHead) {
    Harness host(
        [](ServerOptions& options) { options.header_timeout = std::chrono::milliseconds(50); });
    auto client = host.connect();
    client.send("GET /health HTT");
    const auto reply = client.read_reply();
    EXPECT_EQ(reply.status, 408);
    EXPECT_TRUE(client.at_end());
}

TEST(Connection, EndsASlowBody) {
    Harness host(
        [](ServerOptions& options) { options.idle_timeout = std::chrono::milliseconds(50); });
    auto client = host.connect();
    client.send("POST /v1/namespaces HTTP/1.1\r\nContent-Length: 12\r\n\r\n{\"na");
    EXPECT_EQ(client.read_reply().status, 408);
    EXPECT_TRUE(client.at_end());
}

TEST(Connection, EndsAnIdleOneSilently) {
    Harness host(
        [](ServerOptions& options) { options.idle_timeout = std::chrono::milliseconds(50); });
    auto client = host.connect();
    EXPECT_TRUE(client.at_end());
}

TEST(Connection, RefusesALargeHead) {
    Harness host;
    auto client = host.connect();
    client.send("GET /health HTTP/1.1\r\nX: " + std::string(40'000, 'x'));
    EXPECT_EQ(client.read_reply().status, 431);
    EXPECT_TRUE(client.at_end());
}

TEST(Connection, AnswersWhatIsNotHttp) {
    Harness host;
    auto client = host.connect();
    client.send(std::string("\x16\x03\x01\x00\xA5\x01\r\n\r\n", 10));
    EXPECT_EQ(client.read_reply().status, 400);
    EXPECT_TRUE(client.at_end());
}

TEST(Connection, SurvivesClientsThatLeave) {
    Harness host;
    for (const char* part : {"", "G", "GET /health HTTP/1.1\r\n",
                             "POST /v1/namespaces HTTP/1.1\r\nContent-Length: 9\r\n\r\n{",
                             "GET /health HTTP/1.1\r\n\r\n"}) {
        auto client = host.connect();
        client.send(part);
    }
    EXPECT_TRUE(host.eventually([&] { return host.server().connections() == 0; }));
    EXPECT_EQ(host.request("GET", "/health").status, 200);
}

TEST(Connection, TurnsAwayWhatIsTooMuch) {
    Harness host([](ServerOptions& options) { options.connections = 2; });
    auto first = host.connect();
    auto second = host.connect();
    EXPECT_EQ(first.request("GET", "/health").status, 200);
    EXPECT_EQ(second.request("GET", "/health").status, 200);
    auto third = host.connect();
    const auto reply = third.read_reply();
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.code(), "too-many-connections");
    first.close();
    EXPECT_TRUE(host.eventually([&] { return host.server().connections() == 1; }));
    EXPECT_EQ(host.request("GET", "/health").status, 200);
}

TEST(Connection, KeepsPlacesForLocalClients) {
    Harness host([](ServerOptions& options) { options.connections = 4; });
    std::vector<Client> remote;
    for (int i = 0; i < 3; ++i) {
        remote.push_back(host.connect_tcp());
        EXPECT_EQ(remote.back().request("GET", "/health").status, 200);
    }
    EXPECT_EQ(host.connect_tcp().read_reply().status, 503);
    EXPECT_EQ(host.request("GET", "/health").status, 200);
}

TEST(Connection, TcpNeedsAKey) {
    Harness host;
    host.on_loop([&] {
        Principal principal;
        principal.name = "key:k1";
        host.service().known_keys["right"] = principal;
    });
    EXPECT_EQ(host.connect_tcp().request("GET", "/health").status, 200);
    for (const char* target :
         {"/openapi.json", "/v1/host", "/v1/runs", "/v1/nothing", "/v1/../x"}) {
        for (const char* field :
             {"", "Authorization: Bearer wrong\r\n", "Authorization: Basic right\r\n",
              "Authorization: Bearer \r\n",
              "Authorization: Bearer right\r\nAuthorization: Bearer right\r\n"}) {
            auto client = host.connect_tcp();
            const auto reply = client.request("GET", target, "", field);
            EXPECT_EQ(reply.status, 401) << target << " " << field;
            EXPECT_EQ(reply.code(), "unauthenticated");
            EXPECT_EQ(reply.fields.at("www-authenticate"), "Bearer");
            EXPECT_TRUE(client.at_end());
        }
    }
    auto client = host.connect_tcp();
    EXPECT_EQ(client.request("GET", "/v1/host", "", "Authorization: bearer right\r\n").status, 200);
}

TEST(Connection, FromInsideARunHasThatRunsRights) {
    Harness host;
    Principal principal;
    principal.name = "run:abc";
    auto client = host.connect_inside(principal);
    const auto reply = client.request("POST", "/v1/namespaces/default/capsules/workbench/runs");
    EXPECT_EQ(reply.status, 201);
    EXPECT_EQ(reply.json().as_object().at("startedBy").as_string(), "run:abc");
}

TEST(Connection, FailuresOfTheServiceBecomeProblems) {
    Harness host;
    for (const auto& [failure, status] : std::vector<std::pair<Failure, int>>{
             {Failure(Kind::forbidden, "no"), 403},
             {Failure(Kind::not_found, "no"), 404},
             {Failure::with_code(Kind::resource_exhausted, "no-room", "no"), 503},
             {Failure::with_code(Kind::unavailable, "hypervisor-unavailable", "no"), 503},
             {Failure(Kind::timed_out, "no"), 504},
             {Failure(Kind::unsupported, "no"), 501},
             {Failure(Kind::internal, "no"), 500}}) {
        host.on_loop([&] { host.service().refuse = failure; });
        const auto reply = host.request("GET", "/v1/host");
        EXPECT_EQ(reply.status, status);
        EXPECT_EQ(reply.fields.at("content-type"), "application/problem+json");
        EXPECT_EQ(reply.json().as_object().at("detail").as_string(), "no");
    }
}

TEST(Connection, StopsWithClientsConnected) {
    Harness host;
    auto idle = host.connect();
    EXPECT_EQ(idle.request("GET", "/health").status, 200);
    const auto run = host.add_run();
    auto waiting = host.connect();
    waiting.send("GET /v1/runs/" + run + "?wait=60s HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(host.eventually([&] { return host.service().waiting() == 1; }));
    // ~Harness stops the server and would report what does not end.
}

}  // namespace
}  // namespace host::api::testing
