#pragma once
// FakeDaemon: an HTTP server on a Unix socket that answers as a test tells it. One thread a
// connection; the handler may be called from several at once. restart() drops every connection the
// way a killed daemon does.

#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>

namespace fake {

// One request and the way to answer it.
class Exchange {
  public:
    using Socket = boost::asio::local::stream_protocol::socket;
    Exchange(Socket& socket, std::string request_method, std::string request_target,
             std::map<std::string, std::string> request_headers, std::string request_body)
        : method(std::move(request_method)),
          target(std::move(request_target)),
          headers(std::move(request_headers)),
          body(std::move(request_body)),
          socket_(socket) {}

    const std::string method, target;                  // target with its query
    const std::map<std::string, std::string> headers;  // names in lower case
    const std::string body;

    std::string path() const { return target.substr(0, target.find('?')); }
    bool has_query(const std::string& text) const {
        return ("&" + target.substr(target.find('?') + 1) + "&").find("&" + text + "&") !=
               std::string::npos;
    }

    void answer(int status, const std::string& content,
                const std::string& type = "application/json");
    void problem(int status, const std::string& code, const std::string& detail);
    // Chunked: begin, any number of chunks, end. Without end() the connection breaks off.
    void begin(const std::string& type);
    void chunk(const std::string& bytes);
    void end();
    // The rest of the connection belongs to the handler; it is closed afterwards.
    Socket& take_over() {
        keep_ = false;
        return socket_;
    }
    bool keeps_connection() const { return keep_; }

  private:
    void write(const std::string& bytes);

    Socket& socket_;
    bool keep_ = true;
};

class FakeDaemon {
  public:
    using Handler = std::function<void(Exchange&)>;
    explicit FakeDaemon(Handler handler);
    ~FakeDaemon();

    std::string url() const { return "unix://" + path_; }
    const std::string& folder() const { return folder_; }
    void stop();
    void start();
    // "METHOD target", in the order of arrival.
    std::vector<std::string> requests() const;
    // Until a request has arrived whose line contains `text`; false after 20 s.
    bool wait_for_request(const std::string& text);

  private:
    void accept();
    void serve(Exchange::Socket& socket);

    Handler handler_;
    std::string folder_, path_;
    boost::asio::io_context context_;
    std::unique_ptr<boost::asio::local::stream_protocol::acceptor> acceptor_;
    std::thread thread_;
    mutable std::mutex mutex_;
    std::condition_variable arrived_;
    std::list<Exchange::Socket> sockets_;
    std::list<std::thread> connections_;
    std::vector<std::string> requests_;
};

}  // namespace fake
