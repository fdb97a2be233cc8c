// The terminal's WebSocket, with Boost.Beast's client on the other side.

#include "tests/host/api/harness.hpp"

#include <csignal>
#include <sys/socket.h>
#include <sys/time.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <gmock/gmock.h>

namespace host::api::testing {
namespace {

namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;
using What = sandbox::Follower::Chunk::What;
using ::testing::HasSubstr;

class Terminal : public ::testing::Test {
  protected:
    using Socket = websocket::stream<asio::generic::stream_protocol::socket>;

    Socket open() {
        auto client = host.connect();
        const int fd = ::dup(client.fd());
        const timeval limit{8, 0};
        ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        asio::generic::stream_protocol::socket socket(
            context, asio::generic::stream_protocol(AF_UNIX, 0), fd);
        Socket stream(std::move(socket));
        stream.handshake("localhost", target);
        return stream;
    }
    static std::string read(Socket& stream) {
        boost::beast::flat_buffer buffer;
        stream.read(buffer);
        return boost::beast::buffers_to_string(buffer.data());
    }

    Harness host;
    asio::io_context context;
    std::string run = host.add_run();
    std::string target = "/v1/runs/" + run + "/commands/" + host.add_command(run) + "/terminal";
};

TEST_F(Terminal, CarriesBytesBothWays) {
    auto stream = open();
    host.on_loop([&] { host.service().follower->push(What::bytes, std::string("$ \0\xFF", 4)); });
    EXPECT_EQ(read(stream), std::string("$ \0\xFF", 4));
    EXPECT_TRUE(stream.got_binary());
    stream.binary(true);
    stream.write(asio::buffer(std::string("ls\n\0", 4)));
    EXPECT_TRUE(host.eventually(
        [&] { return host.service().input_sink->taken == std::string("ls\n\0", 4); }));
}

TEST_F(Terminal, ResizesAndSignals) {
    auto stream = open();
    stream.text(true);
    stream.write(asio::buffer(std::string(R"({"resize":{"rows":50,"columns":132}})")));
    stream.write(asio::buffer(std::string("nonsense")));
    stream.write(asio::buffer(std::string(R"({"resize":{"rows":0,"columns":1}})")));
    stream.write(asio::buffer(std::string(R"({"signal":2})")));
    EXPECT_TRUE(host.eventually([&] { return host.service().signals == std::vector<int>{2}; }));
    EXPECT_EQ(host.on_loop([&] { return host.service().size->columns; }), 132);
}

TEST_F(Terminal, ClosesWithTheResult) {
    auto stream = open();
    host.on_loop([&] {
        host.service().follower->push(What::bytes, "bye");
        host.service().follower->push(What::exited);
        host.service().end_command(7);
    });
    EXPECT_EQ(read(stream), "bye");
    const std::string result = read(stream);
    EXPECT_TRUE(stream.got_text());
    EXPECT_THAT(result, HasSubstr("\"exitCode\":7"));
    boost::beast::flat_buffer buffer;
    boost::beast::error_code error;
    stream.read(buffer, error);
    EXPECT_EQ(error, websocket::error::closed);
    EXPECT_TRUE(host.eventually([&] { return host.server().connections() == 0; }));
    EXPECT_TRUE(host.on_loop([&] { return host.service().signals.empty(); }));
}

TEST_F(Terminal, AClientThatLeavesHangsUp) {
    {
        auto stream = open();
        boost::beast::error_code error;
        stream.close(websocket::close_code::normal, error);
    }
    EXPECT_TRUE(
        host.eventually([&] { return host.service().signals == std::vector<int>{SIGHUP}; }));
    EXPECT_TRUE(host.eventually([&] { return host.server().connections() == 0; }));
}

TEST_F(Terminal, ALostConnectionHangsUp) {
    {
        auto stream = open();
        stream.next_layer().close();
    }
    EXPECT_TRUE(
        host.eventually([&] { return host.service().signals == std::vector<int>{SIGHUP}; }));
    EXPECT_TRUE(host.eventually([&] { return host.server().connections() == 0; }));
}

TEST_F(Terminal, NeedsAnUpgrade) {
    const auto reply = host.request("GET", target);
    EXPECT_EQ(reply.status, 426);
    EXPECT_EQ(reply.code(), "upgrade-required");
    target = "/v1/runs/" + run + "/commands/00000000-0000-4000-8000-000000000000/terminal";
    EXPECT_EQ(host.request("GET", target).code(), "not-found");
    EXPECT_THROW(open(), boost::system::system_error);
}

}  // namespace
}  // namespace host::api::testing
