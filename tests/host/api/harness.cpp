#include "tests/host/api/harness.hpp"

#include "host/api/socket_stream.hpp"

#include <arpa/inet.h>
#include <cstring>
#include <filesystem>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

namespace host::api::testing {

namespace asio = boost::asio;

namespace {

constexpr int patience_ms = 8'000;

std::string lower(std::string text) {
    for (char& c : text) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
}

}  // namespace

boost::json::value Reply::json() const {
    boost::system::error_code error;
    auto value = boost::json::parse(body, error);
    EXPECT_FALSE(error) << status << " " << body;
    return value;
}

std::string Reply::code() const {
    const auto value = json();
    const auto* object = value.if_object();
    if (!object || !object->if_contains("code")) return "";
    return std::string(object->at("code").as_string());
}

// ---- client
// ---------------------------------------------------------------------------------------

Client::Client(int fd) : fd_(fd) {}
Client::Client(Client&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      buffer_(std::move(other.buffer_)),
      decoded_(std::move(other.decoded_)) {}
Client::~Client() {
    close();
}

void Client::close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void Client::shutdown_write() {
    ::shutdown(fd_, SHUT_WR);
}

void Client::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return;  // the server may close early on purpose
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

bool Client::fill() {
    pollfd waiting{fd_, POLLIN, 0};
    if (::poll(&waiting, 1, patience_ms) <= 0) {
        ADD_FAILURE() << "the server sends nothing; so far: " << buffer_;
        return false;
    }
    char scratch[65'536];
    const ssize_t size = ::recv(fd_, scratch, sizeof scratch, 0);
    if (size <= 0) return false;
    buffer_.append(scratch, static_cast<std::size_t>(size));
    return true;
}

Reply Client::read_head() {
    Reply reply;
    std::size_t end = std::string::npos;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
        if (!fill()) return reply;
    }
    std::string head = buffer_.substr(0, end + 2);
    buffer_.erase(0, end + 4);
    reply.status = std::stoi(head.substr(9, 3));
    std::size_t line = head.find("\r\n") + 2;
    while (line < head.size()) {
        const std::size_t stop = head.find("\r\n", line);
        const std::string field = head.substr(line, stop - line);
        const std::size_t colon = field.find(": ");
        reply.fields[lower(field.substr(0, colon))] = field.substr(colon + 2);
        line = stop + 2;
    }
    return reply;
}

std::string Client::read_some() {
    if (buffer_.empty() && !fill()) return "";
    return std::exchange(buffer_, "");
}

std::string Client::read_chunked(std::size_t size) {
    while (decoded_.size() < size) {
        const std::size_t line = buffer_.find("\r\n");
        if (line == std::string::npos) {
            if (!fill()) break;
            continue;
        }
        const std::size_t length = std::stoul(buffer_.substr(0, line), nullptr, 16);
        bool enough = true;
        while (enough && buffer_.size() < line + 2 + length + 2) enough = fill();
        if (!enough) break;
        decoded_ += buffer_.substr(line + 2, length);
        buffer_.erase(0, line + 2 + length + 2);
        if (length == 0) break;
    }
    return std::exchange(decoded_, "");
}

Reply Client::read_reply(bool without_body) {
    Reply reply = read_head();
    if (without_body || reply.status == 204 || reply.status == 0) {
        reply.whole = reply.status != 0;
        return reply;
    }
    if (reply.fields.count("content-length")) {
        const std::size_t length = std::stoul(reply.fields["content-length"]);
        while (buffer_.size() < length && fill()) {
        }
        reply.whole = buffer_.size() >= length;
        reply.body = buffer_.substr(0, length);
        buffer_.erase(0, length);
        return reply;
    }
    while (true) {
        std::size_t line = std::string::npos;
        while ((line = buffer_.find("\r\n")) == std::string::npos) {
            if (!fill()) return reply;
        }
        const std::size_t length = std::stoul(buffer_.substr(0, line), nullptr, 16);
        while (buffer_.size() < line + 2 + length + 2) {
            if (!fill()) return reply;
        }
        reply.body += buffer_.substr(line + 2, length);
        buffer_.erase(0, line + 2 + length + 2);
        if (length == 0) break;
    }
    reply.whole = true;
    return reply;
}

bool Client::at_end() {
    if (!buffer_.empty()) return false;
    pollfd waiting{fd_, POLLIN, 0};
    if (::poll(&waiting, 1, patience_ms) <= 0) return false;
    char byte = 0;
    return ::recv(fd_, &byte, 1, MSG_PEEK) <= 0;
}

Reply Client::request(std::string_view method, std::string_view target, std::string_view body,
                      std::string_view fields) {
    std::string bytes = std::string(method) + " " + std::string(target) +
                        " HTTP/1.1\r\nHost: x\r\n" + std::string(fields);
    if (!body.empty()) bytes += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    bytes += "\r\n" + std::string(body);
    send(bytes);
    return read_reply(method == "HEAD");
}

// ---- harness
// --------------------------------------------------------------------------------------

Harness::Harness(const std::function<void(ServerOptions&)>& adjust) {
    char name[] = "/tmp/capsule-api-XXXXXX";
    folder_ = ::mkdtemp(name);
    std::filesystem::create_directory(folder_ + "/vfs");
    ServerOptions options;
    options.socket_path = folder_ + "/api.sock";
    options.vfs_root = folder_ + "/vfs";
    options.listen = "127.0.0.1:0";
    if (adjust) adjust(options);
    service_ = std::make_unique<FakeService>(loop_.get_executor());
    server_ = std::make_unique<Server>(loop_.get_executor(), workers_, *service_, options);
    const auto started = server_->start();
    EXPECT_TRUE(started) << (started ? "" : started.error().describe());
    thread_ = std::thread([this] {
        const auto guard = asio::make_work_guard(loop_);
        loop_.run();
    });
}

Harness::~Harness() {
    auto stopped = asio::co_spawn(loop_, server_->stop(), asio::use_future);
    stopped.get();
    loop_.stop();
    thread_.join();
    workers_.join();
    std::filesystem::remove_all(folder_);
}

Client Harness::connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder_ + "/api.sock";
    std::memcpy(address.sun_path, path.data(), path.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return Client(fd);
}

Client Harness::connect_tcp() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server_->tcp_port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return Client(fd);
}

Client Harness::connect_inside(Principal principal) {
    int pair[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    on_loop([&] {
        auto stream =
            SocketStream::adopt(loop_.get_executor(), protocol::UniqueFd(pair[0]), AF_UNIX);
        server_->serve_stream(*stream, principal);
    });
    return Client(pair[1]);
}

bool Harness::eventually(const std::function<bool()>& holds) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
    while (std::chrono::steady_clock::now() < give_up) {
        if (on_loop(holds)) return true;
        std::this_thread::yield();
    }
    return false;
}

std::string Harness::add_run() {
    return on_loop([this] {
        model::RunRecord record(protocol::RunId::random());
        record.capsule.space = "default";
        record.capsule.name = "workbench";
        record.status = model::RunStatus::running;
        service_->run_records.push_back(record);
        return record.id.str();
    });
}

std::string Harness::add_command(const std::string& run) {
    return on_loop([&] {
        model::CommandRecord record(protocol::CommandId::random(), *protocol::RunId::parse(run));
        record.sequence = 1;
        record.command = "sleep 1";
        record.status = model::CommandStatus::running;
        service_->command_records.push_back(record);
        return record.id.str();
    });
}

}  // namespace host::api::testing
