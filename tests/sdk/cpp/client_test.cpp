#include "sdk/cpp/client.hpp"

#include "tests/sdk/fake_daemon.hpp"

#include <atomic>
#include <future>
#include <thread>

#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

namespace {

using fake::Exchange;
using fake::FakeDaemon;

constexpr char run_json[] = R"({"id":"r1","status":"Running"})";

sdk::Settings settings_of(const FakeDaemon& daemon, const sdk::Interrupt* interrupt = nullptr) {
    sdk::Settings settings;
    settings.endpoint = sdk::parse_endpoint(daemon.url()).value();
    settings.interrupt = interrupt;
    return settings;
}

TEST(Client, GivesTheDaemonsCodeAndSentence) {
    FakeDaemon daemon(
        [](Exchange& exchange) { exchange.problem(404, "not-found", "there is no run r1"); });
    sdk::Client client(settings_of(daemon));
    const auto run = client.run("r1");
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().kind(), protocol::Kind::not_found);
    EXPECT_EQ(run.error().code(), "not-found");
    EXPECT_EQ(run.error().message(), "there is no run r1");
}

TEST(Client, UsesOneConnectionAndANewOneAfterTheDaemonClosedIt) {
    std::atomic<int> answered{0};
    std::promise<void> closed;
    FakeDaemon daemon([&](Exchange& exchange) {
        exchange.answer(200, run_json);
        if (++answered != 2) return;
        exchange.take_over().close();
        closed.set_value();
    });
    sdk::Client client(settings_of(daemon));
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(client.run("r1")) << i;
        if (i == 1) closed.get_future().wait();
    }
}

TEST(Client, SaysWhenNobodyAnswers) {
    FakeDaemon daemon([](Exchange&) {});
    daemon.stop();
    sdk::Client client(settings_of(daemon));
    const auto run = client.run("r1");
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code(), sdk::unreachable_code);
    EXPECT_NE(run.error().message().find(daemon.url()), std::string::npos);
}

TEST(Client, RepeatsACreateWithTheSameKeyAfterALostAnswer) {
    std::vector<std::string> keys;
    FakeDaemon daemon([&](Exchange& exchange) {
        keys.push_back(exchange.headers.at("idempotency-key"));
        if (keys.size() == 1) {
            exchange.take_over();
        } else {
            exchange.answer(201, run_json);
        }
    });
    sdk::Client client(settings_of(daemon));
    ASSERT_TRUE(client.start("default", "report"));
    ASSERT_EQ(keys.size(), 2u);
    EXPECT_EQ(keys[0], keys[1]);
    EXPECT_EQ(keys[0].size(), 36u);
}

TEST(Client, DoesNotRepeatWhatTheDaemonRefused) {
    FakeDaemon daemon([](Exchange& exchange) {
        exchange.problem(503, "no-room", "there is no memory for another run");
    });
    sdk::Client client(settings_of(daemon));
    const auto run = client.start("default", "report");
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code(), "no-room");
    EXPECT_EQ(daemon.requests().size(), 1u);
}

TEST(Client, WaitsThroughARestartOfTheDaemon) {
    std::atomic<int> asked{0};
    FakeDaemon daemon([&](Exchange& exchange) {
        switch (++asked) {
            case 1:
                exchange.answer(200, run_json);
                break;
            case 2:
                exchange.take_over();
                break;
            default:
                exchange.answer(200, R"({"id":"r1","status":"Finished"})");
        }
    });
    sdk::Client client(settings_of(daemon));
    const auto run = client.wait_run("r1", sdk::Until::ended);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->status, "Finished");
    EXPECT_EQ(asked, 3);
    EXPECT_EQ(daemon.requests().front(), "GET /v1/runs/r1?wait=30s&until=ended");
}

TEST(Client, AWaitCanBeInterruptedAndRepeated) {
    sdk::Interrupt interrupt;
    std::atomic<int> asked{0};
    FakeDaemon daemon([&](Exchange& exchange) {
        if (++asked == 1) {
            interrupt.raise();
            char byte;
            boost::system::error_code error;
            exchange.take_over().read_some(boost::asio::buffer(&byte, 1), error);
        } else {
            exchange.answer(200, R"({"id":"r1","status":"Finished"})");
        }
    });
    sdk::Client client(settings_of(daemon, &interrupt));
    const auto first = client.wait_run("r1", sdk::Until::ended);
    ASSERT_FALSE(first);
    EXPECT_TRUE(sdk::is_interrupted(first.error()));
    interrupt.clear();
    EXPECT_TRUE(client.wait_run("r1", sdk::Until::ended));
}

TEST(Client, StreamsFilesBothWays) {
    const std::string content(3'000'000, 'x');
    std::string stored;
    FakeDaemon daemon([&](Exchange& exchange) {
        if (exchange.method == "PUT") {
            stored = exchange.body;
            exchange.answer(201, "");
        } else {
            exchange.answer(200, stored, "application/octet-stream");
        }
    });
    sdk::Client client(settings_of(daemon));
    for (const bool sized : {true, false}) {
        std::size_t sent = 0;
        const auto source = [&](char* data, std::size_t room) -> sdk::Result<std::size_t> {
            const std::size_t count = std::min(room, content.size() - sent);
            std::copy_n(content.data() + sent, count, data);
            sent += count;
            return count;
        };
        std::optional<std::uint64_t> size;
        if (sized) size = content.size();
        ASSERT_TRUE(client.write("default", "data", "/a b/\xC3\xA9#.bin", source, size));
        EXPECT_EQ(stored, content);
    }
    EXPECT_EQ(daemon.requests().front(),
              "PUT /v1/namespaces/default/vfs/data/files/a%20b/%C3%A9%23.bin");
    std::string received;
    ASSERT_TRUE(client.read("default", "data", "/x", [&](std::string_view bytes) {
        received.append(bytes);
        return sdk::Result<void>();
    }));
    EXPECT_EQ(received, content);
}

TEST(Client, ReadsTheReasonOfARefusedUpload) {
    FakeDaemon daemon([](Exchange&) {});
    daemon.stop();
    // Answers before the body has come and closes, as a daemon does with a body that is too large.
    boost::asio::io_context context;
    boost::asio::local::stream_protocol::acceptor acceptor(
        context, boost::asio::local::stream_protocol::endpoint(daemon.folder() + "/api.sock"));
    std::thread server([&] {
        auto socket = acceptor.accept();
        const std::string answer =
            "HTTP/1.1 413 No\r\nContent-Type: application/problem+json\r\nContent-Length: "
            "39\r\n\r\n"
            R"({"code":"too-large","detail":"no more"})";
        boost::asio::write(socket, boost::asio::buffer(answer));
    });
    sdk::Client client(settings_of(daemon));
    const auto source = [](char* data, std::size_t room) -> sdk::Result<std::size_t> {
        std::fill_n(data, room, 'x');
        return room;
    };
    const auto written = client.write("default", "data", "/x", source, 1u << 30);
    server.join();
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), "too-large");
    EXPECT_EQ(written.error().message(), "no more");
}

TEST(Client, SendsItsKey) {
    std::string authorization;
    FakeDaemon daemon([&](Exchange& exchange) {
        const auto found = exchange.headers.find("authorization");
        authorization = found == exchange.headers.end() ? "" : found->second;
        exchange.answer(200, run_json);
    });
    sdk::Settings settings = settings_of(daemon);
    settings.api_key = "k-1";
    sdk::Client client(settings);
    ASSERT_TRUE(client.run("r1"));
    EXPECT_EQ(authorization, "Bearer k-1");
}

TEST(Client, ReadsTheDiagnosticsOfARefusedDeploy) {
    FakeDaemon daemon([](Exchange& exchange) {
        exchange.answer(400, R"({"code":"definition-invalid","detail":"1 mistake","errors":[
            {"file":"capsules/a.mtr","line":2,"column":5,"name":"maxDuraton","message":"unknown"}]})",
                        "application/problem+json");
    });
    sdk::Client client(settings_of(daemon));
    const auto report = client.deploy("default", {});
    ASSERT_TRUE(report);
    ASSERT_EQ(report->diagnostics.size(), 1u);
    EXPECT_EQ(report->diagnostics[0].line, 2u);
    EXPECT_EQ(report->diagnostics[0].name, "maxDuraton");
}

}  // namespace
