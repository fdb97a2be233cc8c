// mt exec -it in a pseudo-terminal, against a daemon that speaks WebSocket.

#include "protocol/base/unique_fd.hpp"
#include "tests/sdk/fake_daemon.hpp"

#include <array>
#include <fcntl.h>
#include <functional>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

namespace {

namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;
using fake::Exchange;
using fake::FakeDaemon;
using WebSocket = websocket::stream<Exchange::Socket&>;

// Accepts the upgrade of a request that has been read already.
std::unique_ptr<WebSocket> accept(Exchange& exchange) {
    beast::http::request<beast::http::string_body> request(beast::http::verb::get, exchange.target,
                                                           11);
    for (const auto& [name, value] : exchange.headers) request.set(name, value);
    auto socket = std::make_unique<WebSocket>(exchange.take_over());
    socket->accept(request);
    return socket;
}

std::string read_message(WebSocket& socket) {
    beast::flat_buffer buffer;
    error_code error;
    socket.read(buffer, error);
    return error ? "(" + error.message() + ")" : beast::buffers_to_string(buffer.data());
}

void send(WebSocket& socket, bool binary, const std::string& bytes) {
    socket.binary(binary);
    socket.write(boost::asio::buffer(bytes));
}

class ExecTerminal : public testing::Test {
  protected:
    ExecTerminal()
        : daemon_([this](Exchange& exchange) {
              if (exchange.path().ends_with("/commands")) {
                  request_ = exchange.body;
                  exchange.answer(201, R"({"id":"c1","status":"Queued"})");
              } else if (exchange.path().ends_with("/terminal")) {
                  const auto socket = accept(exchange);
                  session_(*socket);
              } else {
                  exchange.answer(200, state_);
              }
          }) {}

    void start() {
        winsize size{};
        size.ws_row = 30;
        size.ws_col = 100;
        int master = -1, slave = -1;
        ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, &size), 0);
        master_.reset(master);
        slave_.reset(slave);
        ::tcgetattr(slave, &before_);
        const std::string url = "MAITENTO_URL=" + daemon_.url();
        pid_ = ::fork();
        if (pid_ == 0) {
            ::setsid();
            ::ioctl(slave, TIOCSCTTY, 0);
            for (int fd = 0; fd < 3; ++fd) ::dup2(slave, fd);
            ::close(master);
            ::close(slave);
            const char* environment[] = {url.c_str(), nullptr};
            ::execle(MT_PROGRAM, "mt", "exec", "-it", "r1", "--", "bash", nullptr, environment);
            ::_exit(99);
        }
    }
    std::string read_until(const std::string& text) {
        std::string seen;
        std::array<char, 4096> piece;
        while (seen.find(text) == std::string::npos) {
            pollfd waiting{master_.get(), POLLIN, 0};
            if (::poll(&waiting, 1, 20'000) <= 0) return seen + "(nothing more)";
            const ssize_t count = ::read(master_.get(), piece.data(), piece.size());
            if (count <= 0) return seen + "(end)";
            seen.append(piece.data(), static_cast<std::size_t>(count));
        }
        return seen;
    }
    void type(const std::string& keys) {
        ASSERT_EQ(::write(master_.get(), keys.data(), keys.size()),
                  static_cast<ssize_t>(keys.size()));
    }
    int finish() {
        int status = 0;
        ::waitpid(pid_, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    bool is_restored() const {
        termios now{};
        ::tcgetattr(slave_.get(), &now);
        return now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag &&
               now.c_oflag == before_.c_oflag;
    }

    std::function<void(WebSocket&)> session_;
    std::string request_, state_ = R"({"id":"c1","status":"Running"})";
    protocol::UniqueFd master_, slave_;
    termios before_{};
    pid_t pid_ = -1;
    FakeDaemon daemon_;
};

TEST_F(ExecTerminal, CarriesKeysAndExitsWithTheCode) {
    session_ = [](WebSocket& socket) {
        EXPECT_EQ(read_message(socket), R"({"resize":{"rows":30,"columns":100}})");
        send(socket, true, "$ ");
        EXPECT_EQ(read_message(socket), "\x03");  // Ctrl-C is a key like any other
        send(socket, true, "^C\xFF$ ");
        send(socket, false, R"({"exitCode":42})");
        error_code error;
        socket.close(websocket::close_code::normal, error);
    };
    start();
    read_until("$ ");
    EXPECT_FALSE(is_restored());
    type("\x03");
    EXPECT_NE(read_until("^C\xFF$ ").find("^C\xFF$ "), std::string::npos);
    EXPECT_EQ(finish(), 42);
    EXPECT_TRUE(is_restored());
    const auto request = boost::json::parse(request_);
    EXPECT_EQ(request.at("async"), true);
    EXPECT_EQ(request.at("terminal"), boost::json::parse(R"({"rows":30,"columns":100})"));
}

TEST_F(ExecTerminal, SendsTheNewSize) {
    session_ = [this](WebSocket& socket) {
        read_message(socket);
        winsize size{};
        size.ws_row = 50;
        size.ws_col = 120;
        ::ioctl(master_.get(), TIOCSWINSZ, &size);
        EXPECT_EQ(read_message(socket), R"({"resize":{"rows":50,"columns":120}})");
        send(socket, false, R"({"exitCode":0})");
        error_code error;
        socket.close(websocket::close_code::normal, error);
    };
    start();
    EXPECT_EQ(finish(), 0);
}

TEST_F(ExecTerminal, LeavesInOrderWhenItIsEnded) {
    session_ = [this](WebSocket& socket) {
        read_message(socket);
        ::kill(pid_, SIGTERM);
        beast::flat_buffer buffer;
        error_code error;
        socket.read(buffer, error);
        EXPECT_EQ(error, websocket::error::closed);
    };
    start();
    EXPECT_EQ(finish(), 125);
    EXPECT_TRUE(is_restored());
}

TEST_F(ExecTerminal, ConnectsAgainAfterALostConnection) {
    int sessions = 0;
    session_ = [&](WebSocket& socket) {
        read_message(socket);
        if (++sessions == 1) {
            send(socket, true, "abc");
            EXPECT_EQ(read_message(socket), "key");
            return;  // drops the connection
        }
        EXPECT_EQ(read_message(socket), "key");  // it may have been in the lost link
        send(socket, false, R"({"exitCode":9})");
        error_code error;
        socket.close(websocket::close_code::normal, error);
    };
    start();
    read_until("abc");
    type("key");
    EXPECT_EQ(finish(), 9);
    EXPECT_EQ(sessions, 2);
    EXPECT_TRUE(daemon_.wait_for_request("/terminal?outputFrom=3&inputFrom=0"));
    EXPECT_TRUE(is_restored());
}

TEST_F(ExecTerminal, AsksTheCommandWhenTheTerminalEndedWithoutAResult) {
    session_ = [](WebSocket& socket) { read_message(socket); };
    state_ = R"({"id":"c1","status":"Aborted","reason":"the run was stopped"})";
    start();
    EXPECT_NE(read_until("the run was stopped").find("aborted"), std::string::npos);
    EXPECT_EQ(finish(), 125);
}

}  // namespace
