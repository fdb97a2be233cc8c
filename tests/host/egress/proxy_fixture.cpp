#include "tests/host/egress/proxy_fixture.hpp"

#include "protocol/base/ids.hpp"

#include <arpa/inet.h>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace host::egress {

using protocol::UniqueFd;

namespace {

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

}  // namespace

Stream::Stream(UniqueFd fd) : fd_(std::move(fd)) {
    const timeval limit{20, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool Stream::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

void Stream::half_close() {
    ::shutdown(fd_.get(), SHUT_WR);
}

std::string Stream::read(std::size_t size) {
    char piece[65'536];
    while (ahead_.size() < size) {
        const ssize_t got = ::recv(fd_.get(), piece, sizeof piece, 0);
        if (got <= 0) break;
        ahead_.append(piece, static_cast<std::size_t>(got));
    }
    std::string bytes = ahead_.substr(0, size);
    ahead_.erase(0, bytes.size());
    return bytes;
}

std::string Stream::read_until(std::string_view end) {
    char piece[65'536];
    std::size_t at;
    while ((at = ahead_.find(end)) == std::string::npos) {
        const ssize_t got = ::recv(fd_.get(), piece, sizeof piece, 0);
        if (got <= 0) return read(ahead_.size());
        ahead_.append(piece, static_cast<std::size_t>(got));
    }
    return read(at + end.size());
}

std::string Stream::read_answer() {
    std::string head = read_until("\r\n\r\n");
    const std::string fields = lower(head);
    if (const auto at = fields.find("content-length:"); at != std::string::npos) {
        return head + read(std::stoul(fields.substr(at + 15)));
    }
    if (fields.find("transfer-encoding: chunked") == std::string::npos) return head;
    for (;;) {
        const std::string line = read_until("\r\n");
        const std::size_t size = line.empty() ? 0 : std::stoul(line, nullptr, 16);
        const std::string chunk = read(size + 2);
        head += chunk.substr(0, size);
        if (size == 0) return head;
    }
}

Server::Server(std::function<void(Stream&)> script, const char* address)
    : script_(std::move(script)) {
    listener_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in in{};
    in.sin_family = AF_INET;
    ::inet_pton(AF_INET, address, &in.sin_addr);
    socklen_t size = sizeof in;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&in), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 64), 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&in), &size);
    port_ = ntohs(in.sin_port);
    acceptor_ = std::thread([this] { serve(); });
}

void Server::serve() {
    for (;;) {
        UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!fd) return;
        ++connections_;
        workers_.emplace_back([this, raw = fd.release()] {
            Stream stream{UniqueFd(raw)};
            script_(stream);
        });
    }
}

Server::~Server() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    for (std::thread& worker : workers_) worker.join();
}

void Recorder::operator()(Stream& stream) {
    std::string request = stream.read_answer();
    if (request.empty()) return;
    {
        const std::lock_guard lock(mutex_);
        requests_.push_back(std::move(request));
    }
    stream.send(answer_);
    stream.half_close();
    // What else comes would be a second request.
    const std::string more = stream.read_all();
    if (!more.empty()) {
        const std::lock_guard lock(mutex_);
        requests_.push_back(more);
    }
}

std::vector<std::string> Recorder::requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
}

std::string ok(std::string_view body) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\nConnection: close\r\n\r\n" + std::string(body);
}

std::string status_line(const std::string& answer) {
    return answer.substr(0, answer.find("\r\n"));
}

int status_of(const std::string& answer) {
    return answer.starts_with("HTTP/1.1 ") ? std::atoi(answer.c_str() + 9) : 0;
}

std::string body_of(const std::string& answer) {
    const auto at = answer.find("\r\n\r\n");
    return at == std::string::npos ? "" : answer.substr(at + 4);
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

Proxy::Proxy(std::vector<std::string> allowed_ranges) : run_(protocol::RunId::random().str()) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    control_.reset(ends[0]);
    const UniqueFd theirs(::fcntl(ends[1], F_DUPFD_CLOEXEC, 10));
    ::close(ends[1]);
    std::vector<std::string> words = {EGRESS_PROGRAM, "--control-fd=3", "--uid=65534",
                                      "--gid=65534"};
    for (const std::string& range : allowed_ranges) words.push_back("--allow=" + range);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), 3);
    EXPECT_EQ(::posix_spawn(&pid_, EGRESS_PROGRAM, &actions, nullptr, arguments.data(), environ),
              0);
    ::posix_spawn_file_actions_destroy(&actions);
}

Proxy::~Proxy() {
    if (pid_ != 0) stop();
}

int Proxy::stop() {
    control_.reset();
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Proxy::hand_over(const Policy& policy, int fd, const std::string& run) {
    Handover handover;
    handover.run = run.empty() ? run_ : run;
    handover.policy = policy;
    const auto sent = send_with_fd(control_.get(), encode(handover), fd);
    EXPECT_TRUE(sent) << sent.error().describe();
}

Stream Proxy::connect(const Policy& policy, const std::string& run) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const UniqueFd theirs(ends[1]);
    hand_over(policy, theirs.get(), run);
    return Stream(UniqueFd(ends[0]));
}

std::string Proxy::ask(const Policy& policy, const std::string& request) {
    Stream stream = connect(policy);
    stream.send(request);
    stream.half_close();
    return stream.read_all();
}

Policy internet() {
    Policy policy;
    policy.network.mode = "internet";
    return policy;
}

Policy packages(const std::string& source_url) {
    Policy policy;
    policy.network.mode = "packages";
    policy.sources.push_back(parse_source(source_url).value());
    return policy;
}

Policy hosts(std::vector<std::string> names) {
    Policy policy;
    policy.network.mode = "hosts";
    policy.network.hosts = std::move(names);
    return policy;
}

}  // namespace host::egress
