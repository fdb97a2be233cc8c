#include "host/egress/egress_process.hpp"

#include "tests/host/egress/proxy_fixture.hpp"

#include <deque>
#include <memory>
#include <signal.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace host::egress {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

// A guest's stream that says what it was given and keeps what it is told.
class FakeTunnel final : public sandbox::TunnelStream {
  public:
    FakeTunnel(asio::io_context& io, std::string request)
        : request_(std::move(request)), wake_(io, std::chrono::steady_clock::time_point::max()) {}

    sandbox::Async<std::string> read() override {
        while (request_.empty() && !closed && !half_closed_) {
            boost::system::error_code ignored;
            co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        }
        if (closed) co_return protocol::fail(protocol::Kind::unavailable, "closed");
        co_return std::exchange(request_, "");
    }
    sandbox::Async<void> write(std::string bytes) override {
        told += bytes;
        co_return protocol::Result<void>();
    }
    void shutdown_write() override { told_all = true; }
    void close() override {
        closed = true;
        wake_.cancel();
    }
    void half_close() {
        half_closed_ = true;
        wake_.cancel();
    }

    std::string told;
    bool told_all = false;
    bool closed = false;

  private:
    std::string request_;
    bool half_closed_ = false;
    asio::steady_timer wake_;
};

class EgressProcessTest : public testing::Test {
  protected:
    std::shared_ptr<EgressProcess> start() {
        EgressOptions options;
        options.program = EGRESS_PROGRAM;
        options.allowed_ranges = {"127.0.0.0/8"};
        return EgressProcess::start(io.get_executor(), options).value();
    }
    bool until(const std::function<bool()>& holds) {
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (!holds()) {
            if (std::chrono::steady_clock::now() >= deadline) return false;
            io.restart();
            io.run_one_until(deadline);
        }
        return true;
    }
    std::shared_ptr<FakeTunnel> get(EgressProcess& process, const std::string& url) {
        auto tunnel = std::make_shared<FakeTunnel>(
            io, "GET " + url + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        process.tunnel(protocol::RunId::random(), internet(), tunnel);
        return tunnel;
    }
    void finish(const std::shared_ptr<EgressProcess>& process) {
        process->close();
        EXPECT_TRUE(until([&] { return process->pid() == 0; }));
    }

    asio::io_context io;
};

TEST_F(EgressProcessTest, CarriesATunnelAndClosesItWhenItIsOver) {
    Recorder recorder(ok("through"));
    Server server(std::ref(recorder));
    const auto process = start();
    const auto tunnel = get(*process, server.url("/"));  // before it has come up
    ASSERT_TRUE(until([&] { return tunnel->told_all; }));
    EXPECT_NE(tunnel->told.find("through"), std::string::npos) << tunnel->told;
    // The guest keeps its side open; the proxy does not.
    EXPECT_TRUE(until([&] { return tunnel->closed; }));
    finish(process);
}

TEST_F(EgressProcessTest, StartsTheProxyAgainWhenItDies) {
    Recorder recorder(ok("again"));
    Server server(std::ref(recorder));
    const auto process = start();
    ASSERT_TRUE(until([&] { return process->pid() != 0; }));
    for (int round = 0; round < 2; ++round) {
        const pid_t before = process->pid();
        ::kill(before, SIGKILL);
        const auto tunnel = get(*process, server.url("/"));
        ASSERT_TRUE(until([&] { return tunnel->told_all || tunnel->closed; }));
        // Handed to the dying one it is lost; asked again it is answered.
        const auto second = get(*process, server.url("/"));
        ASSERT_TRUE(until([&] { return second->told_all; }));
        EXPECT_NE(second->told.find("again"), std::string::npos);
        EXPECT_NE(process->pid(), before);
    }
    finish(process);
}

TEST_F(EgressProcessTest, TellsTheGuestWhenThereIsNoProxy) {
    EgressOptions options;
    options.program = "/nonexistent/capsule-egress";
    options.patience = 200ms;
    const auto process = EgressProcess::start(io.get_executor(), options).value();
    const auto tunnel = get(*process, "http://127.0.0.1/");
    ASSERT_TRUE(until([&] { return tunnel->told_all; }));
    EXPECT_NE(tunnel->told.find("503"), std::string::npos);
    tunnel->half_close();
    EXPECT_TRUE(until([&] { return tunnel->closed; }));
    process->close();
    until([&] { return false || io.poll() == 0; });
}

TEST_F(EgressProcessTest, RefusesRangesThatAreNone) {
    EgressOptions options;
    options.program = EGRESS_PROGRAM;
    options.allowed_ranges = {"10.0.0.0/99"};
    EXPECT_FALSE(EgressProcess::start(io.get_executor(), options));
}

}  // namespace
}  // namespace host::egress
