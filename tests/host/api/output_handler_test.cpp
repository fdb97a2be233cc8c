#include "host/api/output_record.hpp"
#include "tests/host/api/harness.hpp"

#include <gmock/gmock.h>

namespace host::api::testing {
namespace {

using ::testing::HasSubstr;
using What = sandbox::Follower::Chunk::What;

struct Record {
    int type = 0, stream = 0;
    std::uint64_t offset = 0;
    std::string payload;
};

std::uint64_t number(std::string_view bytes) {
    std::uint64_t value = 0;
    for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
    return value;
}

std::vector<Record> read_records(std::string_view bytes) {
    std::vector<Record> records;
    while (bytes.size() >= 16) {
        Record record;
        record.type = static_cast<unsigned char>(bytes[0]);
        record.stream = static_cast<unsigned char>(bytes[1]);
        EXPECT_EQ(bytes.substr(2, 2), std::string_view("\0\0", 2));
        const auto length = static_cast<std::size_t>(number(bytes.substr(4, 4)));
        record.offset = number(bytes.substr(8, 8));
        record.payload = bytes.substr(16, length);
        records.push_back(record);
        bytes.remove_prefix(16 + length);
    }
    EXPECT_TRUE(bytes.empty());
    return records;
}

class OutputHandler : public ::testing::Test {
  protected:
    void push(What what, std::string bytes = "", std::uint64_t offset = 0,
              protocol::Channel channel = protocol::Channel::output) {
        host.on_loop(
            [&] { host.service().follower->push(what, std::move(bytes), offset, channel); });
    }
    void finish() {
        host.on_loop([&] { host.service().follower->finish(); });
    }

    Harness host;
    std::string run = host.add_run();
    std::string target = "/v1/runs/" + run + "/commands/" + host.add_command(run) + "/output";
};

TEST_F(OutputHandler, SendsRecordsUntilTheEnd) {
    push(What::bytes, std::string("a\0\xFF", 3), 10);
    push(What::bytes, "err", 0, protocol::Channel::error);
    push(What::gap, "", 13);
    push(What::exited);
    push(What::bytes, "late", 20);
    push(What::end_of_channel, "", 24);
    push(What::end_of_channel, "", 3, protocol::Channel::error);
    finish();
    host.on_loop([&] { host.service().end_command(3); });
    const auto reply = host.request("GET", target + "?outputFrom=10&errorFrom=2&lossless=true");
    EXPECT_EQ(reply.status, 200);
    EXPECT_TRUE(reply.whole);
    EXPECT_EQ(reply.fields.at("content-type"), "application/vnd.capsule.output");
    host.on_loop([&] {
        EXPECT_EQ(host.service().follow_output_from, 10u);
        EXPECT_EQ(host.service().follow_error_from, 2u);
        EXPECT_TRUE(host.service().follow_lossless);
        EXPECT_TRUE(host.service().follower->closed);
    });
    const auto records = read_records(reply.body);
    ASSERT_EQ(records.size(), 7u);
    EXPECT_EQ(records[0].type, 1);
    EXPECT_EQ(records[0].stream, 1);
    EXPECT_EQ(records[0].offset, 10u);
    EXPECT_EQ(records[0].payload, std::string("a\0\xFF", 3));
    EXPECT_EQ(records[1].stream, 2);
    EXPECT_EQ(records[2].type, 2);
    EXPECT_EQ(records[2].offset, 13u);
    EXPECT_EQ(number(records[2].payload), 20u);
    EXPECT_EQ(records[3].type, 3);
    EXPECT_THAT(records[3].payload, HasSubstr("\"exitCode\":3"));
    EXPECT_EQ(records[3].payload.find("outputStandard"), std::string::npos);
    EXPECT_EQ(records[4].payload, "late");
    EXPECT_EQ(records[5].type, 4);
    EXPECT_EQ(records[5].offset, 24u);
    EXPECT_EQ(records[6].stream, 2);
}

TEST_F(OutputHandler, ArrivesAsItComes) {
    auto client = host.connect();
    client.send("GET " + target + " HTTP/1.1\r\n\r\n");
    EXPECT_EQ(client.read_head().status, 200);
    push(What::bytes, "one");
    EXPECT_EQ(read_records(client.read_chunked(19)).at(0).payload, "one");
    push(What::bytes, "two", 3);
    EXPECT_EQ(read_records(client.read_chunked(19)).at(0).payload, "two");
}

TEST_F(OutputHandler, ReadsNoFasterThanTheClient) {
    constexpr std::size_t pieces = 400;
    for (std::size_t i = 0; i < pieces; ++i)
        push(What::bytes, std::string(65'536, 'x'), i * 65'536);
    auto client = host.connect();
    client.send("GET " + target + " HTTP/1.1\r\n\r\n");
    // The sockets' own buffers take some hundred KiB; what counts is that it stops.
    std::size_t before = 0;
    EXPECT_TRUE(host.eventually([&] {
        const auto reads = host.service().follower->reads;
        const bool stopped = reads > 0 && reads == before;
        before = reads;
        return stopped;
    }));
    EXPECT_LT(host.on_loop([&] { return host.service().follower->reads; }), pieces / 2);
    finish();
    host.on_loop([&] { host.service().end_command(0); });
    const auto reply = client.read_reply();
    EXPECT_TRUE(reply.whole);
    EXPECT_EQ(read_records(reply.body).size(), pieces + 1);
}

TEST_F(OutputHandler, AFollowerThatFailsEndsWithTheResult) {
    push(What::bytes, "x");
    auto client = host.connect();
    client.send("GET " + target + " HTTP/1.1\r\n\r\n");
    EXPECT_EQ(client.read_head().status, 200);
    client.read_chunked(17);
    host.on_loop([&] {
        host.service().end_command(1);
        host.service().follower->close();
    });
    const auto records = read_records(client.read_chunked(20));
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].type, 3);
}

TEST_F(OutputHandler, ClosesTheFollowerWhenTheClientLeaves) {
    auto client = host.connect();
    client.send("GET " + target + " HTTP/1.1\r\n\r\n");
    EXPECT_EQ(client.read_head().status, 200);
    client.close();
    EXPECT_TRUE(host.eventually([&] { return host.service().follower->closed; }));
    EXPECT_TRUE(host.eventually([&] { return host.server().connections() == 0; }));
}

TEST_F(OutputHandler, HeadHasNoRecords) {
    auto client = host.connect();
    EXPECT_EQ(client.request("HEAD", target).status, 200);
    EXPECT_TRUE(host.eventually([&] { return host.service().follower->closed; }));
    EXPECT_EQ(client.request("GET", "/health").status, 200);
}

TEST_F(OutputHandler, RefusalsAreProblems) {
    EXPECT_EQ(host.request("GET", "/v1/runs/" + run +
                                      "/commands/00000000-0000-4000-8000-000000000000/output")
                  .code(),
              "not-found");
    EXPECT_EQ(host.request("GET", target + "?outputFrom=-1").code(), "invalid-request");
    host.on_loop([&] {
        host.service().refuse = Failure::with_code(Kind::conflict, "command-ended", "over");
    });
    EXPECT_EQ(host.request("GET", target).code(), "command-ended");
}

}  // namespace
}  // namespace host::api::testing
