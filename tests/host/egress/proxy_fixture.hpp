#pragma once
// The real capsule-egress program, a scripted server on a loopback address, and a guest's
// connection to the proxy as a plain blocking socket.

#include "host/egress/handover.hpp"
#include "protocol/base/unique_fd.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace host::egress {

// A blocking byte stream with a time limit on everything.
class Stream {
  public:
    explicit Stream(protocol::UniqueFd fd);
    bool send(std::string_view bytes);
    void half_close();
    // Up to `size` bytes, fewer only at the end of file.
    std::string read(std::size_t size);
    std::string read_all() { return read(std::string::npos); }
    std::string read_until(std::string_view end);
    // One HTTP answer with a Content-Length or chunked body, for connections that stay open.
    std::string read_answer();
    int fd() const { return fd_.get(); }
    void close() { fd_.reset(); }

  private:
    protocol::UniqueFd fd_;
    std::string ahead_;
};

// Accepts on a loopback address and hands each connection to the script on a thread of its own.
class Server {
  public:
    explicit Server(std::function<void(Stream&)> script, const char* address = "127.0.0.1");
    ~Server();
    std::uint16_t port() const { return port_; }
    std::string url(std::string_view path) const {
        return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
    }
    std::string at(std::string_view host) const {
        return std::string(host) + ":" + std::to_string(port_);
    }
    int connections() const { return connections_; }

  private:
    void serve();

    std::function<void(Stream&)> script_;
    protocol::UniqueFd listener_;
    std::uint16_t port_ = 0;
    std::atomic<int> connections_ = 0;
    std::vector<std::thread> workers_;
    std::thread acceptor_;
};

// Reads one request (header and a body with Content-Length or chunked), remembers it, answers.
class Recorder {
  public:
    explicit Recorder(std::string answer) : answer_(std::move(answer)) {}
    void operator()(Stream& stream);
    std::vector<std::string> requests();

  private:
    std::string answer_;
    std::mutex mutex_;
    std::vector<std::string> requests_;
};

std::string ok(std::string_view body);
// Of an answer as it came: "HTTP/1.1 200 OK", 200, and what follows the header.
std::string status_line(const std::string& answer);
int status_of(const std::string& answer);
std::string body_of(const std::string& answer);
bool has(const std::string& text, std::string_view part);

class Proxy {
  public:
    explicit Proxy(std::vector<std::string> allowed_ranges = {});
    ~Proxy();
    Stream connect(const Policy& policy, const std::string& run = "");
    // Another descriptor instead of a fresh socket pair.
    void hand_over(const Policy& policy, int fd, const std::string& run = "");
    pid_t pid() const { return pid_; }
    // Closes the control socket and returns the exit status.
    int stop();
    // One request, everything that came back.
    std::string ask(const Policy& policy, const std::string& request);

  private:
    protocol::UniqueFd control_;
    pid_t pid_ = 0;
    std::string run_;
};

Policy internet();
Policy packages(const std::string& source_url);
Policy hosts(std::vector<std::string> names);

}  // namespace host::egress
