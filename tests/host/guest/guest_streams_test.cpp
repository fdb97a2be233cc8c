// Live output and tunnels: back-pressure, order, quotas.

#include "tests/host/guest/guest_fixture.hpp"

#include <chrono>

namespace host::guest {
namespace {

using namespace std::chrono_literals;
using protocol::Channel;
using protocol::Kind;
using protocol::StreamId;
using Chunk = sandbox::Follower::Chunk;
using Request = ScriptedGuest::Request;

class GuestStreams : public GuestTest {
  protected:
    StreamId open_tunnel(std::string_view what, std::uint32_t uid = 1000) {
        protocol::Tunnel request;
        request.peer_uid = uid;
        return agent.open(protocol::encode_request(what, request));
    }
};

TEST_F(GuestStreams, AFollowerIsToldOfGaps) {
    const auto guest = connected();
    agent.on_request = [&](const Request& request) {
        agent.data(request.stream, Channel::output, "abc", false);
        protocol::OutputGap gap;
        gap.channel = static_cast<std::uint8_t>(Channel::output);
        gap.from = 3;
        gap.to = 1000;
        agent.event(request.stream, "gap", gap);
        agent.data(request.stream, Channel::output, "xyz", true);
        agent.data(request.stream, Channel::error, "", true);
        agent.end(request.stream, protocol::Done());
    };
    const auto follower = guest->follow(protocol::CommandFollow());
    std::vector<Chunk> chunks;
    for (;;) {
        auto next = loop.wait(follower->read());
        ASSERT_TRUE(next);
        if (!*next) break;
        chunks.push_back(std::move(**next));
    }
    ASSERT_EQ(chunks.size(), 5u);
    EXPECT_EQ(chunks[0].bytes, "abc");
    EXPECT_EQ(chunks[1].what, Chunk::What::gap);
    EXPECT_EQ(chunks[1].offset, 3u);
    EXPECT_EQ(chunks[1].gap_end, 1000u);
    EXPECT_EQ(chunks[2].bytes, "xyz");
    EXPECT_EQ(chunks[2].offset, 1000u);
    EXPECT_EQ(chunks[3].what, Chunk::What::end_of_channel);
    EXPECT_EQ(chunks[4].channel, Channel::error);
}

TEST_F(GuestStreams, AnUnreadFollowerHoldsOneWindow) {
    const auto guest = connected();
    const std::string plenty(4u << 20, 'x');
    std::size_t sent = 0;
    agent.on_request = [&](const Request& request) {
        sent += agent.data(request.stream, Channel::output, plenty, false);
    };
    agent.on_writable = [&](StreamId stream) {
        sent += agent.data(stream, Channel::output, std::string_view(plenty).substr(sent), false);
    };
    const auto follower = guest->follow(protocol::CommandFollow());
    ASSERT_TRUE(loop.until([&] { return sent >= protocol::limits::window_bytes; }));
    // A round trip later nothing more may have been taken.
    ASSERT_TRUE(loop.wait(follower->read()));
    agent.on_request = [&](const Request& request) { agent.end(request.stream, protocol::Done()); };
    ASSERT_TRUE(loop.wait(guest->mount(protocol::Mount())));
    EXPECT_LE(sent, protocol::limits::window_bytes + 2 * protocol::limits::data_payload_bytes);
    // The scripted agent is an old one, which knows nothing of larger windows.
    const auto follow = agent.last("command.follow")->as<protocol::CommandFollow>();
    EXPECT_EQ(follow.window, protocol::limits::unsaid_follow_window_bytes);
}

TEST_F(GuestStreams, AFollowersWindowIsWhatTheAgentAllows) {
    agent.hello.limits.follow_window_bytes = protocol::limits::follow_window_bytes;
    const auto guest = connected();
    const std::string plenty(4u << 20, 'x');
    std::size_t sent = 0;
    agent.on_request = [&](const Request& request) {
        const auto wanted = request.as<protocol::CommandFollow>().window.value();
        agent.widen(request.stream, Channel::output, wanted);
        sent += agent.data(request.stream, Channel::output, plenty, false);
    };
    agent.on_writable = [&](StreamId stream) {
        sent += agent.data(stream, Channel::output, std::string_view(plenty).substr(sent), false);
    };
    const auto follower = guest->follow(protocol::CommandFollow());
    ASSERT_TRUE(loop.until([&] { return sent >= protocol::limits::follow_window_bytes; }));
    for (std::size_t read = 0; read < plenty.size();) {
        const auto chunk = loop.wait(follower->read());
        ASSERT_TRUE(chunk && *chunk);
        read += (*chunk)->bytes.size();
    }
    EXPECT_EQ(sent, plenty.size());
}

TEST_F(GuestStreams, NoFollowerHasAWindowThatTheProtocolDoesNotHave) {
    for (const auto& [said, asked] :
         {std::pair(0u, protocol::limits::window_bytes),
          std::pair(UINT32_MAX, protocol::limits::follow_window_bytes)}) {
        agent.hello.limits.follow_window_bytes = said;
        const auto guest = connected();
        agent.on_request = [](const Request&) {};
        const auto follower = guest->follow(protocol::CommandFollow());
        ASSERT_TRUE(loop.until([&] { return agent.last("command.follow") != nullptr; }));
        EXPECT_EQ(agent.last("command.follow")->as<protocol::CommandFollow>().window, asked);
        agent.requests.clear();
    }
}

TEST_F(GuestStreams, OnlySomeFollowersAtATimeHaveAWideWindow) {
    agent.hello.limits.follow_window_bytes = protocol::limits::follow_window_bytes;
    const auto guest = connected();
    agent.on_request = [](const Request&) {};
    std::vector<std::shared_ptr<sandbox::Follower>> followers;
    const auto window_of_one_more = [&] {
        const std::size_t before = agent.requests.size();
        followers.push_back(guest->follow(protocol::CommandFollow()));
        EXPECT_TRUE(loop.until([&] { return agent.requests.size() == before + 1; }));
        return agent.last("command.follow")->as<protocol::CommandFollow>().window;
    };
    for (int wide = 0; wide < 4; ++wide) {
        EXPECT_EQ(window_of_one_more(), protocol::limits::follow_window_bytes);
    }
    EXPECT_EQ(window_of_one_more(), protocol::limits::window_bytes);
    followers.erase(followers.begin());
    EXPECT_EQ(window_of_one_more(), protocol::limits::follow_window_bytes);
    EXPECT_EQ(window_of_one_more(), protocol::limits::window_bytes);
}

TEST_F(GuestStreams, AClosedFollowerResetsItsStream) {
    const auto guest = connected();
    agent.on_request = [](const Request&) {};
    auto follower = guest->follow(protocol::CommandFollow());
    ASSERT_TRUE(loop.until([&] { return agent.requests.size() == 1; }));
    follower.reset();
    EXPECT_TRUE(loop.until([&] { return agent.resets.size() == 1; }));
}

TEST_F(GuestStreams, AFollowerOfAnUnknownCommandFails) {
    const auto guest = connected();
    agent.on_request = [&](const Request& request) {
        agent.end_failure(request.stream, Kind::not_found, "no such command");
    };
    const auto follower = guest->follow(protocol::CommandFollow());
    const auto first = loop.wait(follower->read());
    ASSERT_FALSE(first);
    EXPECT_EQ(first.error().kind(), Kind::not_found);
    const auto second = loop.wait(follower->read());
    ASSERT_TRUE(second);
    EXPECT_FALSE(*second);
}

TEST_F(GuestStreams, InputOfAnEndedCommandIsRefused) {
    const auto guest = connected();
    const auto sink = guest->input(protocol::CommandInput());  // the agent ends it at once
    ASSERT_TRUE(loop.until([&] { return agent.requests.size() == 1; }));
    protocol::Result<void> written;
    for (int i = 0; i < 100 && written; ++i)
        written = loop.wait(sink->write(std::string(10'000, 'x')));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), "input-closed");
}

TEST_F(GuestStreams, ATunnelCarriesBytesBothWaysAndHalfCloses) {
    const auto guest = connected();
    std::string heard;
    bool heard_all = false;
    agent.on_data = [&](const protocol::StreamData& data) {
        heard += data.bytes;
        heard_all = heard_all || data.last;
        agent.consumed(data.stream, data.channel, data.bytes.size());
    };
    const auto stream = open_tunnel("egress", 33);
    ASSERT_TRUE(loop.until([&] { return tunnels.size() == 1; }));
    EXPECT_EQ(tunnels[0].kind, sandbox::TunnelKind::egress);
    EXPECT_EQ(tunnels[0].request.peer_uid, 33u);
    const auto tunnel = tunnels[0].stream;
    agent.data(stream, Channel::input, "GET /", true);
    EXPECT_EQ(loop.wait(tunnel->read()).value(), "GET /");
    EXPECT_EQ(loop.wait(tunnel->read()).value(), "");
    const std::string answer(3u << 20, 'y');
    ASSERT_TRUE(loop.wait(tunnel->write(answer)));
    tunnel->shutdown_write();
    ASSERT_TRUE(loop.until([&] { return !agent.ends.empty(); }));
    EXPECT_TRUE(heard_all);
    EXPECT_EQ(heard.size(), answer.size());
}

TEST_F(GuestStreams, ATunnelWriteWaitsForAGuestThatDoesNotRead) {
    const auto guest = connected();
    std::size_t unread = 0;
    agent.on_data = [&](const protocol::StreamData& data) { unread += data.bytes.size(); };
    const auto stream = open_tunnel("egress");
    ASSERT_TRUE(loop.until([&] { return tunnels.size() == 1; }));
    const auto written = loop.start(tunnels[0].stream->write(std::string(1u << 20, 'x')));
    ASSERT_TRUE(loop.until([&] { return unread == protocol::limits::window_bytes; }));
    loop.settle();
    EXPECT_FALSE(written->has_value());
    agent.on_data = [&](const protocol::StreamData& data) {
        agent.consumed(data.stream, data.channel, data.bytes.size());
    };
    agent.consumed(stream, Channel::output, unread);
    ASSERT_TRUE(loop.until([&] { return written->has_value(); }));
    EXPECT_TRUE(**written);
}

TEST_F(GuestStreams, TunnelsHaveQuotasByKind) {
    const auto guest = connected();
    for (std::uint32_t i = 0; i < protocol::limits::guest_api_streams + 3; ++i) open_tunnel("api");
    ASSERT_TRUE(loop.until([&] { return agent.ends.size() == 3; }));
    EXPECT_EQ(tunnels.size(), protocol::limits::guest_api_streams);
    EXPECT_NE(agent.ends[0].second.find("resource_exhausted"), std::string::npos);
    // The other kind is not affected, and a closed one makes room.
    open_tunnel("egress");
    ASSERT_TRUE(
        loop.until([&] { return tunnels.size() == protocol::limits::guest_api_streams + 1; }));
    tunnels[0].stream->close();
    ASSERT_TRUE(loop.until([&] { return agent.ends.size() == 4; }));
    open_tunnel("api");
    ASSERT_TRUE(
        loop.until([&] { return tunnels.size() == protocol::limits::guest_api_streams + 2; }));
}

TEST_F(GuestStreams, ALetGoTunnelIsClosed) {
    const auto guest = connected();
    open_tunnel("api");
    ASSERT_TRUE(loop.until([&] { return tunnels.size() == 1; }));
    tunnels.clear();
    EXPECT_TRUE(loop.until([&] { return agent.ends.size() == 1; }));
}

TEST_F(GuestStreams, ATunnelFailsWithItsConnection) {
    const auto guest = connected();
    open_tunnel("api");
    ASSERT_TRUE(loop.until([&] { return tunnels.size() == 1; }));
    const auto read = loop.start(tunnels[0].stream->read());
    agent.drop();
    ASSERT_TRUE(loop.until([&] { return read->has_value(); }));
    EXPECT_EQ((*read)->error().kind(), Kind::unavailable);
    EXPECT_EQ(loop.wait(tunnels[0].stream->write("x")).error().kind(), Kind::unavailable);
}

TEST_F(GuestStreams, WithoutATunnelServiceStreamsAreRefused) {
    agent.listen();
    const auto guest =
        make_guest(loop.io.get_executor(), protocol::RunId::random(), agent.address(), {});
    ASSERT_TRUE(connect(guest));
    open_tunnel("api");
    ASSERT_TRUE(loop.until([&] { return agent.ends.size() == 1; }));
    EXPECT_NE(agent.ends[0].second.find("unsupported"), std::string::npos);
}

}  // namespace
}  // namespace host::guest
