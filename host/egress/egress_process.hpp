#pragma once
// EgressProcess: the daemon's side of the proxy. Starts capsule-egress, starts it again when it
// dies, and hands it the connections that guests open, each with its run and policy. The daemon
// itself only copies bytes between the host link and the proxy's socket; it reads none of them.
//
// Threading: the executor's thread. Lifetime: own it by shared_ptr; close() ends the process.

#include "host/egress/handover.hpp"
#include "host/sandbox/guest.hpp"
#include "protocol/base/ids.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace host::egress {

struct EgressOptions {
    EgressOptions() = default;
    std::string program;                       // path of capsule-egress
    std::uint32_t uid = 65'534, gid = 65'534;  // nobody, nogroup; used where the daemon is root
    // "10.1.0.0/16": reachable although not public, all ports.
    std::vector<std::string> allowed_ranges;
    // How long a guest's connection waits for a proxy that is away, before it is told.
    std::chrono::milliseconds patience{5'000};
};

class EgressProcess : public std::enable_shared_from_this<EgressProcess> {
  public:
    // invalid_argument for a range that is none; the process itself is started in the background.
    static Result<std::shared_ptr<EgressProcess>> start(boost::asio::any_io_executor executor,
                                                        EgressOptions options);

    // Returns at once. While the proxy is away the connection waits for a few seconds, then the
    // guest is told with a 503.
    void tunnel(const protocol::RunId& run, const Policy& policy,
                std::shared_ptr<sandbox::TunnelStream> stream);
    void close();
    // 0 while it is not running.
    pid_t pid() const { return pid_; }

  private:
    EgressProcess(boost::asio::any_io_executor executor, EgressOptions options);

    boost::asio::awaitable<void> maintain();
    boost::asio::awaitable<void> watch();
    boost::asio::awaitable<void> hand_over(std::string text,
                                           std::shared_ptr<sandbox::TunnelStream> stream);
    boost::asio::awaitable<Result<protocol::UniqueFd>> offer(std::string text);
    Result<void> spawn();
    void reap();

    boost::asio::any_io_executor executor_;
    EgressOptions options_;
    boost::asio::steady_timer pause_;
    boost::asio::steady_timer
        running_;  // cancelled when the proxy has been started, or never will be
    std::optional<boost::asio::posix::stream_descriptor> process_;  // pidfd
    protocol::UniqueFd control_;
    pid_t pid_ = 0;
    bool closed_ = false;
};

}  // namespace host::egress
