#pragma once
// Harness: the real server with a FakeService on a loop thread of its own, and plain blocking
// clients.

#include "host/api/server.hpp"
#include "tests/host/api/fake_service.hpp"

#include <future>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/json/value.hpp>

namespace host::api::testing {

struct Reply {
    int status = 0;
    std::map<std::string, std::string> fields;  // names in lower case
    std::string body;
    bool whole = false;  // ended as its head said
    boost::json::value json() const;
    std::string code() const;  // of a problem
};

// One blocking connection. Reads give up after some seconds so that a hanging server fails a test.
class Client {
  public:
    explicit Client(int fd);
    ~Client();
    Client(Client&& other) noexcept;

    void send(std::string_view bytes);
    Reply read_reply(bool without_body = false);
    // Head only; then read_some() for a stream.
    Reply read_head();
    std::string read_some();  // "" = end
    std::string read_chunked(
        std::size_t size);  // decoded; at least `size` bytes, or what came before the end
    bool at_end();          // the server has closed
    void shutdown_write();
    void close();
    int fd() const { return fd_; }

    Reply request(std::string_view method, std::string_view target, std::string_view body = "",
                  std::string_view fields = "");

  private:
    bool fill();
    int fd_;
    std::string buffer_;
    std::string decoded_;
};

class Harness {
  public:
    explicit Harness(const std::function<void(ServerOptions&)>& adjust = {});
    ~Harness();

    Client connect();  // the Unix socket
    Client connect_tcp();
    // A connection opened from inside a run.
    Client connect_inside(Principal principal);
    Reply request(std::string_view method, std::string_view target, std::string_view body = "",
                  std::string_view fields = "") {
        return connect().request(method, target, body, fields);
    }

    // Runs on the loop thread and waits for it.
    template <typename Work>
    auto on_loop(Work work) {
        std::promise<decltype(work())> done;
        auto result = done.get_future();
        boost::asio::post(loop_, [&] {
            if constexpr (std::is_void_v<decltype(work())>) {
                work();
                done.set_value();
            } else {
                done.set_value(work());
            }
        });
        return result.get();
    }
    // Until `holds` on the loop thread; false after some seconds.
    bool eventually(const std::function<bool()>& holds);

    FakeService& service() { return *service_; }
    Server& server() { return *server_; }
    const std::string& folder() const { return folder_; }
    // A run and a command, Running.
    std::string add_run();
    std::string add_command(const std::string& run);

  private:
    std::string folder_;
    boost::asio::io_context loop_;
    boost::asio::thread_pool workers_{2};
    std::unique_ptr<FakeService> service_;
    std::unique_ptr<Server> server_;
    std::thread thread_;
};

}  // namespace host::api::testing
