#include "protocol/channel/link.hpp"

#include "protocol/base/ids.hpp"
#include "protocol/wire/limits.hpp"

#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace protocol {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct Observer : LinkObserver {
    void on_event(SessionEvent event) override {
        EXPECT_TRUE(closed.empty()) << "on_closed is the last call";
        if (handler) return handler(std::move(event));
        events.push_back(std::move(event));
    }
    void on_closed(const Failure& why) override { closed.push_back(why.describe()); }

    std::function<void(SessionEvent)> handler;
    std::vector<SessionEvent> events;
    std::vector<std::string> closed;
};

struct Sockets {
    Sockets() {
        int fds[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
        one = UniqueFd(fds[0]);
        two = UniqueFd(fds[1]);
    }
    UniqueFd one, two;
};

class LinkTest : public testing::Test {
  protected:
    ~LinkTest() override {
        if (host_) host_->detach();
        if (guest_) guest_->detach();
    }

    std::shared_ptr<Link> make(UniqueFd fd, Role role, Observer& observer) {
        auto link = Link::make(context_.get_executor(), std::move(fd), role,
                               R"({"software":"test"})", EndOfFile::closes, observer);
        link->start();
        return link;
    }

    void connect() {
        Sockets sockets;
        host_ = make(std::move(sockets.one), Role::host, host_observer_);
        guest_ = make(std::move(sockets.two), Role::guest, guest_observer_);
        run_until([&] { return host_->session().ready() && guest_->session().ready(); });
        run_until(
            [&] { return !host_observer_.events.empty() && !guest_observer_.events.empty(); });
        host_observer_.events.clear();
        guest_observer_.events.clear();
    }

    void run_until(const std::function<bool()>& condition) {
        const auto give_up = std::chrono::steady_clock::now() + 20s;
        while (!condition()) {
            ASSERT_LT(std::chrono::steady_clock::now(), give_up) << "nothing happens any more";
            context_.run_one_for(1s);
            context_.restart();
        }
    }

    boost::asio::io_context context_;
    Observer host_observer_, guest_observer_;
    std::shared_ptr<Link> host_, guest_;
};

TEST_F(LinkTest, CarriesTenMebibytesEachWay) {
    connect();
    constexpr std::size_t total = 10u << 20;
    // The guest sends everything back; credit goes back as it does so.
    std::string pending;
    const auto echo = [&](StreamId stream) {
        const std::size_t sent =
            guest_->session().send_data(stream, Channel::output, pending, false);
        pending.erase(0, sent);
        guest_->session().consumed(stream, Channel::input, sent);
        guest_->flush();
    };
    guest_observer_.handler = [&](SessionEvent event) {
        if (const auto* data = std::get_if<StreamData>(&event)) {
            pending += data->bytes;
            echo(data->stream);
        } else if (const auto* writable = std::get_if<StreamWritable>(&event)) {
            echo(writable->stream);
        }
    };

    std::string sent(total, '\0'), received;
    for (std::size_t at = 0; at < total; ++at) sent[at] = static_cast<char>(at * 31 >> 8);
    std::size_t offered = 0;
    const auto offer = [&](StreamId stream) {
        offered += host_->session().send_data(stream, Channel::input,
                                              std::string_view(sent).substr(offered), false);
        host_->flush();
    };
    host_observer_.handler = [&](SessionEvent event) {
        if (const auto* data = std::get_if<StreamData>(&event)) {
            received += data->bytes;
            host_->session().consumed(data->stream, data->channel, data->bytes.size());
            host_->flush();
        } else if (const auto* writable = std::get_if<StreamWritable>(&event)) {
            offer(writable->stream);
        }
    };
    offer(host_->session().open("{}").value());
    run_until([&] { return received.size() >= total || !host_observer_.closed.empty(); });
    EXPECT_TRUE(received == sent);
}

// More of them than the control queue may hold.
TEST_F(LinkTest, ManyLargeAnswersAtOnceWaitForTheTransport) {
    connect();
    constexpr std::size_t requests = 60;
    const std::string large(limits::control_payload_bytes - 100, 'x');
    guest_observer_.handler = [&](SessionEvent event) {
        const auto* opened = std::get_if<StreamOpened>(&event);
        if (opened == nullptr) return;
        guest_->session().end(opened->stream, R"({"ok":")" + large + "\"}");
        guest_->flush();
    };
    std::size_t answers = 0;
    host_observer_.handler = [&](SessionEvent event) {
        if (std::holds_alternative<StreamEnded>(event)) ++answers;
    };
    for (std::size_t i = 0; i < requests; ++i) ASSERT_TRUE(host_->session().open("{}"));
    host_->flush();
    run_until([&] { return answers == requests || !host_observer_.closed.empty(); });
    EXPECT_EQ(answers, requests);
    EXPECT_TRUE(host_observer_.closed.empty()) << host_observer_.closed.front();
    // Reading goes on as well.
    ASSERT_TRUE(host_->session().open("{}"));
    host_->flush();
    run_until([&] { return answers == requests + 1 || !host_observer_.closed.empty(); });
    EXPECT_EQ(answers, requests + 1);
}

TEST_F(LinkTest, TellsBothSidesOnceWhenOneCloses) {
    connect();
    host_->close("shutting down");
    host_->close("again");
    EXPECT_TRUE(host_observer_.closed.empty()) << "not from inside the call";
    run_until([&] { return !host_observer_.closed.empty() && !guest_observer_.closed.empty(); });
    context_.run_for(1ms);
    EXPECT_THAT(host_observer_.closed, testing::ElementsAre(HasSubstr("shutting down")));
    EXPECT_THAT(guest_observer_.closed, testing::ElementsAre(HasSubstr("the peer closed")));
    ASSERT_EQ(guest_observer_.events.size(), 1u);
    EXPECT_EQ(std::get<PeerBye>(guest_observer_.events[0]).reason, "shutting down");
}

TEST_F(LinkTest, ReportsAViolationToBothSides) {
    Sockets sockets;
    guest_ = make(std::move(sockets.one), Role::guest, guest_observer_);
    std::string bytes = encode_preamble(Nonce{1});
    Frame hello;
    hello.kind = FrameKind::hello;
    hello.payload = "{}";
    encode_frame(hello, bytes);
    encode_frame(hello, bytes);
    ASSERT_EQ(::write(sockets.two.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    run_until([&] { return !guest_observer_.closed.empty(); });
    EXPECT_EQ(guest_observer_.closed[0], "a second hello");
    EXPECT_EQ(guest_observer_.events.size(), 1u) << "what came before it is delivered";
    std::string answer(4096, '\0');
    const ssize_t count = ::read(sockets.two.get(), answer.data(), answer.size());
    ASSERT_GT(count, 0);
    EXPECT_THAT(answer.substr(0, static_cast<std::size_t>(count)), HasSubstr("a second hello"));
}

TEST_F(LinkTest, ReadsWhatThePeerSaidBeforeItWent) {
    connect();
    host_->session().send_event(StreamId::connection, "{}");
    host_->close("gone");
    // The guest finds that it cannot write before it finds out why.
    guest_->session().send_event(StreamId::connection, "{}");
    guest_->flush();
    run_until([&] { return !guest_observer_.closed.empty(); });
    EXPECT_EQ(guest_observer_.events.size(), 2u);
}

TEST_F(LinkTest, IsSilentAfterDetach) {
    connect();
    guest_->session().send_event(StreamId::connection, "{}");
    guest_->flush();
    host_->detach();
    run_until([&] { return !guest_observer_.closed.empty(); });
    EXPECT_TRUE(host_observer_.events.empty());
    EXPECT_TRUE(host_observer_.closed.empty());
}

TEST_F(LinkTest, MayBeClosedAndDroppedFromItsOwnCallback) {
    connect();
    host_observer_.handler = [&](SessionEvent) {
        host_->close("from inside");
        host_.reset();
    };
    guest_->session().send_event(StreamId::connection, "{}");
    guest_->session().send_event(StreamId::connection, "{}");
    guest_->flush();
    run_until([&] { return !host_observer_.closed.empty(); });
    EXPECT_EQ(host_observer_.closed.size(), 1u);
}

TEST_F(LinkTest, ReportsADescriptorThatCannotBeWaitedFor) {
    UniqueFd file(::memfd_create("not a stream", MFD_CLOEXEC));
    host_ = make(std::move(file), Role::host, host_observer_);
    run_until([&] { return !host_observer_.closed.empty(); });
    EXPECT_THAT(host_observer_.closed[0], HasSubstr("cannot be waited for"));
}

// A FIFO whose writer has gone behaves as a virtio-serial port whose host has: always readable,
// reads 0.
TEST_F(LinkTest, PollsAPortWhoseHostIsAwayByTimer) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("port-" + RunId::random().str());
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    UniqueFd port(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    UniqueFd(::open(path.c_str(), O_WRONLY | O_CLOEXEC)).reset();
    guest_ = Link::make(context_.get_executor(), std::move(port), Role::guest, "{}",
                        EndOfFile::polls, guest_observer_);
    const auto begin = std::chrono::steady_clock::now();
    guest_->start();
    for (int handlers = 0; handlers < 5; ++handlers) context_.run_one();
    const auto passed = std::chrono::steady_clock::now() - begin;
    EXPECT_GE(passed, 150ms) << "it must not spin";
    EXPECT_LT(passed, 3s) << "it must not wait for the descriptor or the tick";
    EXPECT_TRUE(guest_observer_.closed.empty());

    const UniqueFd host(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    std::filesystem::remove(path);
    const std::string preamble = encode_preamble(Nonce{1});
    ASSERT_EQ(::write(host.get(), preamble.data(), preamble.size()),
              static_cast<ssize_t>(preamble.size()));
    // It has read the preamble: it answers, which this one-way descriptor refuses.
    run_until([&] { return !guest_observer_.closed.empty(); });
    EXPECT_THAT(guest_observer_.closed[0], HasSubstr("write to the host link"));
}

// The guest's kernel hands out a host's bytes before it says that the host is there.
TEST_F(LinkTest, KeepsAGreetingThatComesBeforeTheNewsOfItsHost) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("port-" + RunId::random().str());
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    UniqueFd port(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    guest_ = Link::make(context_.get_executor(), std::move(port), Role::guest, "{}",
                        EndOfFile::polls, guest_observer_);
    UniqueFd host(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    std::filesystem::remove(path);
    // Part of a greeting, so that there is nothing to answer, which a FIFO could not carry.
    const std::string preamble = encode_preamble(Nonce{1});
    ASSERT_EQ(::write(host.get(), preamble.data(), 10), 10);
    host.reset();  // reads 0 from now on
    guest_->start();
    for (int handlers = 0; handlers < 4; ++handlers) context_.run_one();
    const std::size_t before = guest_->session().queued_bytes();
    EXPECT_TRUE(guest_->session().feed(preamble.substr(10), std::chrono::steady_clock::now()));
    EXPECT_GT(guest_->session().queued_bytes(), before) << "it answers the whole greeting";
}

}  // namespace
}  // namespace protocol
