#include "tests/sdk/fake_daemon.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/algorithm/string/case_conv.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace fake {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

void Exchange::write(const std::string& bytes) {
    error_code error;
    asio::write(socket_, asio::buffer(bytes), error);
    if (error) keep_ = false;
}

void Exchange::answer(int status, const std::string& content, const std::string& type) {
    std::string head = "HTTP/1.1 " + std::to_string(status) + " Fake\r\n";
    if (status != 204) {
        head += "Content-Type: " + type + "\r\nContent-Length: " + std::to_string(content.size()) +
                "\r\n";
    }
    write(head + "\r\n" + (status == 204 ? "" : content));
}

void Exchange::problem(int status, const std::string& code, const std::string& detail) {
    boost::json::object document;
    document["status"] = status;
    document["code"] = code;
    document["detail"] = detail;
    answer(status, boost::json::serialize(document), "application/problem+json");
}

void Exchange::begin(const std::string& type) {
    keep_ = false;
    write("HTTP/1.1 200 OK\r\nContent-Type: " + type + "\r\nTransfer-Encoding: chunked\r\n\r\n");
}

void Exchange::chunk(const std::string& bytes) {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
    write(size + bytes + "\r\n");
}

void Exchange::end() {
    keep_ = true;
    write("0\r\n\r\n");
}

FakeDaemon::FakeDaemon(Handler handler) : handler_(std::move(handler)) {
    std::string pattern = (std::filesystem::temp_directory_path() / "fake-daemon-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ + "/api.sock";
    start();
}

FakeDaemon::~FakeDaemon() {
    stop();
    std::filesystem::remove_all(folder_);
}

void FakeDaemon::start() {
    std::filesystem::remove(path_);
    acceptor_ = std::make_unique<asio::local::stream_protocol::acceptor>(
        context_, asio::local::stream_protocol::endpoint(path_));
    thread_ = std::thread([this] { accept(); });
}

void FakeDaemon::stop() {
    if (!thread_.joinable()) return;
    ::shutdown(acceptor_->native_handle(), SHUT_RDWR);
    thread_.join();
    acceptor_.reset();
    std::filesystem::remove(path_);
    std::list<std::thread> connections;
    {
        const std::lock_guard lock(mutex_);
        for (auto& socket : sockets_) ::shutdown(socket.native_handle(), SHUT_RDWR);
        connections.swap(connections_);
    }
    for (std::thread& connection : connections) connection.join();
    sockets_.clear();
}

std::vector<std::string> FakeDaemon::requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
}

bool FakeDaemon::wait_for_request(const std::string& text) {
    std::unique_lock lock(mutex_);
    return arrived_.wait_for(lock, std::chrono::seconds(20), [&] {
        return std::any_of(requests_.begin(), requests_.end(), [&](const std::string& request) {
            return request.find(text) != std::string::npos;
        });
    });
}

void FakeDaemon::accept() {
    for (;;) {
        error_code error;
        Exchange::Socket socket(context_);
        acceptor_->accept(socket, error);
        if (error) return;
        const std::lock_guard lock(mutex_);
        Exchange::Socket& kept = sockets_.emplace_back(std::move(socket));
        connections_.emplace_back([this, &kept] { serve(kept); });
    }
}

void FakeDaemon::serve(Exchange::Socket& socket) {
    boost::beast::flat_buffer buffer;
    for (bool keep = true; keep;) {
        error_code error;
        http::request_parser<http::string_body> parser;
        parser.body_limit(boost::none);
        http::read(socket, buffer, parser, error);
        if (error) break;
        const auto message = parser.release();
        std::map<std::string, std::string> headers;
        for (const auto& field : message) {
            headers[boost::to_lower_copy(std::string(field.name_string()))] =
                std::string(field.value());
        }
        Exchange exchange(socket, std::string(message.method_string()),
                          std::string(message.target()), std::move(headers), message.body());
        {
            const std::lock_guard lock(mutex_);
            requests_.push_back(exchange.method + " " + exchange.target);
        }
        arrived_.notify_all();
        handler_(exchange);
        keep = exchange.keeps_connection();
    }
    ::shutdown(socket.native_handle(), SHUT_RDWR);
}

}  // namespace fake
