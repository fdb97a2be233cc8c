#include "tests/host/api/harness.hpp"

#include <gtest/gtest.h>

namespace host::api::testing {
namespace {

TEST(Waiting, HearsTheEndAsItHappens) {
    Harness host;
    const auto run = host.add_run();
    auto client = host.connect();
    client.send("GET /v1/runs/" + run + "?wait=60s&until=ended HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(host.eventually([&] { return host.service().waiting() == 1; }));
    host.on_loop([&] { host.service().end_run(); });
    const auto reply = client.read_reply();
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.json().as_object().at("status").as_string(), "Finished");
    EXPECT_EQ(client.request("GET", "/health").status, 200);
}

TEST(Waiting, AnswersAtTheLimitWithWhatIs) {
    Harness host;
    const auto run = host.add_run();
    const auto reply = host.request("GET", "/v1/runs/" + run + "?wait=20ms");
    EXPECT_EQ(reply.json().as_object().at("status").as_string(), "Running");
    EXPECT_EQ(host.request("GET", "/v1/runs/" + run + "?wait=20s&until=started")
                  .json()
                  .as_object()
                  .at("status")
                  .as_string(),
              "Running");
}

TEST(Waiting, EndsWhenTheClientGoesAway) {
    Harness host;
    const auto run = host.add_run();
    const auto command = host.add_command(run);
    for (const auto& target :
         {"/v1/runs/" + run + "?wait=60s", "/v1/runs/" + run + "/commands/" + command + "?wait=60s",
          std::string("/v1/events")}) {
        auto client = host.connect();
        client.send("GET " + target + " HTTP/1.1\r\n\r\n");
        ASSERT_TRUE(host.eventually([&] { return host.service().waiting() == 1; })) << target;
        client.close();
        EXPECT_TRUE(host.eventually([&] { return host.service().waiting() == 0; })) << target;
    }
    EXPECT_EQ(host.service().cancelled(), 3);
}

TEST(Waiting, RefusesTooManyAtOnce) {
    Harness host([](ServerOptions& options) { options.waiting = 1; });
    const auto run = host.add_run();
    auto first = host.connect();
    first.send("GET /v1/runs/" + run + "?wait=60s HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(host.eventually([&] { return host.service().waiting() == 1; }));
    const auto reply = host.request("GET", "/v1/runs/" + run + "?wait=60s");
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.code(), "too-many-waiting");
    EXPECT_EQ(reply.fields.at("retry-after"), "1");
    EXPECT_EQ(host.request("GET", "/v1/runs/" + run).status, 200);
    first.close();
    ASSERT_TRUE(host.eventually([&] { return host.service().waiting() == 0; }));
    EXPECT_EQ(host.request("GET", "/v1/runs/" + run + "?wait=10ms").status, 200);
}

TEST(Waiting, RefusesOddTimes) {
    Harness host;
    const auto run = host.add_run();
    for (const char* wait :
         {"", "30", "61s", "-1s", "1m", "s", "ms", "1.5s", "99999999999s", "60001ms"}) {
        EXPECT_EQ(host.request("GET", "/v1/runs/" + run + "?wait=" + wait).code(),
                  "invalid-request")
            << wait;
    }
    EXPECT_EQ(host.request("GET", "/v1/runs/" + run + "?wait=1s&until=finished").code(),
              "invalid-request");
}

}  // namespace
}  // namespace host::api::testing
