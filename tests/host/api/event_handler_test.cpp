#include "tests/host/api/harness.hpp"

#include <gmock/gmock.h>

namespace host::api::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class EventHandler : public ::testing::Test {
  protected:
    void happen(std::uint64_t id) {
        host.on_loop([&] {
            model::EventRecord record;
            record.id = id;
            record.space = "team";
            record.type = "run.ended";
            record.data = R"({"run":"r)" + std::to_string(id) + "\"}";
            host.service().event_records.push_back(std::move(record));
            host.service().changed.notify_all();
        });
    }
    Client open(const std::string& target, const std::string& fields = "") {
        auto client = host.connect();
        client.send("GET " + target + " HTTP/1.1\r\n" + fields + "\r\n");
        const auto head = client.read_head();
        EXPECT_EQ(head.status, 200);
        EXPECT_EQ(head.fields.at("content-type"), "text/event-stream");
        return client;
    }

    Harness host;
};

TEST_F(EventHandler, SendsWhatHappensFromNowOn) {
    happen(1);
    auto client = open("/v1/events");
    ASSERT_TRUE(host.eventually([&] { return host.service().waiting() == 1; }));
    happen(2);
    const std::string text = client.read_chunked(60);
    EXPECT_THAT(text, HasSubstr("id: 2\nevent: run.ended\ndata: "
                                "{\"id\":2,\"type\":\"run.ended\",\"namespace\":\"team\","));
    EXPECT_THAT(text, HasSubstr("\"data\":{\"run\":\"r2\"}}\n\n"));
    EXPECT_THAT(text, StartsWith("retry: 1000\nid: 1\n\n"));  // where to resume, come what may
    EXPECT_THAT(text, Not(HasSubstr("\"id\":1,")));
}

TEST_F(EventHandler, ResumesAfterTheLastOneSeen) {
    for (std::uint64_t id = 1; id <= 4; ++id) happen(id);
    auto by_field = open("/v1/events", "Last-Event-ID: 2\r\n");
    const std::string text = by_field.read_chunked(100);
    EXPECT_THAT(text, HasSubstr("id: 3\n"));
    EXPECT_THAT(text, HasSubstr("id: 4\n"));
    EXPECT_THAT(text, Not(HasSubstr("\"id\":2,")));
    auto by_query = open("/v1/events?after=3");
    EXPECT_THAT(by_query.read_chunked(100), Not(HasSubstr("\"id\":3,")));
    EXPECT_EQ(host.request("GET", "/v1/events", "", "Last-Event-ID: x\r\n").code(),
              "invalid-request");
    EXPECT_EQ(host.request("GET", "/v1/events?after=x").code(), "invalid-request");
}

TEST_F(EventHandler, EndsWhenTheServiceRefuses) {
    auto client = open("/v1/events");
    ASSERT_TRUE(host.eventually([&] { return host.service().waiting() == 1; }));
    host.on_loop(
        [&] { host.service().refuse = Failure(Kind::unauthenticated, "the key was deleted"); });
    happen(1);
    client.read_chunked(60);
    EXPECT_TRUE(client.at_end());
}

}  // namespace
}  // namespace host::api::testing
