#pragma once
// Connection: one HTTP/1.1 connection to the daemon, kept alive between requests. One exchange at a
// time: send(), then read_body() to the end or close(). Used by Client and by the streams. One
// thread; the interrupt may be raised from elsewhere.
//
// Failures: "unreachable" (nobody answers), "connection-lost" (the peer went away in the middle),
// "timed-out" (silence), "interrupted".

#include "protocol/base/result.hpp"
#include "sdk/cpp/endpoint.hpp"
#include "sdk/cpp/interrupt.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sdk {

inline constexpr char unreachable_code[] = "unreachable";
inline constexpr char connection_lost_code[] = "connection-lost";

// True when another try on a new connection may succeed.
bool is_connection_failure(const protocol::Failure& failure);
bool is_interrupted(const protocol::Failure& failure);

struct Settings {
    Settings() = default;
    Endpoint endpoint;
    std::string api_key;                   // "" = none (Unix socket)
    const Interrupt* interrupt = nullptr;  // must outlive every object made with it
    Settings woken_by(const Interrupt* other) const;
};

// Fills `data`; returns how many bytes, 0 at the end.
using BodyReader = std::function<Result<std::size_t>(char* data, std::size_t size)>;

struct Request {
    Request() = default;
    std::string method, target;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    // Instead of `body`: streamed, with a length if it is known and chunked otherwise.
    BodyReader source;
    std::optional<std::uint64_t> source_size;
    std::chrono::milliseconds silence_limit{60'000};  // per read or write; zero: none
};

struct ResponseHead {
    ResponseHead() = default;
    int status = 0;
    std::string content_type;
    std::optional<std::uint64_t> content_length;
    std::optional<unsigned> retry_after_seconds;
};

class Connection {
  public:
    explicit Connection(Settings settings);
    Connection(Connection&&) noexcept;
    Connection& operator=(Connection&&) noexcept;
    ~Connection();

    // Does nothing on a connection that is open and fresh.
    Result<void> open();
    bool is_open() const;
    void close();

    // Sends and reads the header of the answer. An answer that comes before the body was sent
    // completely counts. Opens the connection when needed; what is left of an earlier exchange is
    // thrown away with its connection.
    Result<ResponseHead> send(const Request& request);
    // 0 = the body is complete. Repeatable after "interrupted" and "timed-out".
    Result<std::size_t> read_body(char* data, std::size_t size);
    // The whole rest of the body; too_large above `limit`.
    Result<std::string> read_rest(std::size_t limit);
    // For all further waiting in this exchange.
    void set_silence_limit(std::chrono::milliseconds limit);

    const Settings& settings() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sdk
