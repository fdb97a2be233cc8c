#include "host/guest/link_core.hpp"

#include "protocol/base/name.hpp"
#include "protocol/channel/transport.hpp"
#include "protocol/wire/json_codec.hpp"

#include <algorithm>
#include <sys/socket.h>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/serialize.hpp>
#include <spdlog/spdlog.h>

namespace host::guest {

using protocol::Kind;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

// Before the first answer: well inside the 50 ms in which the agent must be heard. Cheap, because
// what is missing then is a socket file or a listener in the guest.
constexpr auto first_dial_pause = 20ms;
// A connection that lasted this long was a good one; the next loss is repaired without a pause.
constexpr auto stable_after = protocol::limits::connect_retry_max;

std::string our_hello() {
    protocol::Hello hello;
    hello.software = "capsuled " CAPSULE_VERSION;
    hello.limits.control_payload_bytes = protocol::limits::control_payload_bytes;
    hello.limits.data_payload_bytes = protocol::limits::data_payload_bytes;
    hello.limits.window_bytes = protocol::limits::window_bytes;
    return boost::json::serialize(protocol::to_json(hello));
}

}  // namespace

LinkCore::LinkCore(boost::asio::any_io_executor executor, const protocol::RunId& run,
                   sandbox::GuestAddress address, sandbox::GuestCallbacks callbacks,
                   Patience patience)
    : executor_(executor),
      run_(run),
      address_(std::move(address)),
      callbacks_(std::move(callbacks)),
      patience_(patience),
      changed_(executor),
      connected_(executor) {}

std::uint32_t LinkCore::follow_window() const {
    namespace limits = protocol::limits;
    const auto said = hello_ ? hello_->limits.follow_window_bytes : std::nullopt;
    return std::clamp(said.value_or(limits::unsaid_follow_window_bytes), limits::window_bytes,
                      limits::follow_window_bytes);
}

// ---- connecting ---------------------------------------------------------------------------------

sandbox::Async<protocol::Hello> LinkCore::connect(sandbox::Deadline deadline,
                                                  std::string expected_boot_id) {
    const auto self = shared_from_this();
    if (gone_) co_return protocol::fail(*gone_);
    if (std::exchange(connect_called_, true))
        co_return protocol::fail(Kind::conflict, "connected twice");
    boot_id_ = std::move(expected_boot_id);
    give_up_at_ = deadline;
    auto finished = [self](std::exception_ptr error) {
        if (!error) return;
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& why) {
            self->give_up(Failure(Kind::internal,
                                  std::string("the link to the guest failed: ") + why.what()));
        }
    };
    boost::asio::co_spawn(executor_, maintain(), std::move(finished));
    while (!hello_ && !gone_) {
        const bool go_on = co_await connected_.wait();
        if (!go_on) {
            give_up(Failure(Kind::unavailable, "connecting was cancelled"));
            break;
        }
    }
    if (hello_) co_return *hello_;
    co_return protocol::fail(*gone_);
}

boost::asio::awaitable<void> LinkCore::maintain() {
    const auto self = shared_from_this();
    while (!gone_) {
        auto fd = co_await dial();
        if (gone_) break;
        if (fd) {
            connection_ =
                Connection::start(executor_, std::move(*fd), our_hello(), weak_from_this());
            while (connection_ && !gone_) {
                const TimePoint limit = was_ready_ ? TimePoint::max() : give_up_at();
                if (steady_clock::now() >= limit) break;
                co_await changed_.wait(limit);
            }
        } else {
            last_trouble_ = fd.error().describe();
            next_pause();
        }
        if (gone_) break;
        if (steady_clock::now() >= give_up_at()) {
            give_up_unreachable();
            break;
        }
        co_await pause();
    }
}

sandbox::Async<protocol::UniqueFd> LinkCore::dial() {
    if (address_.transport == sandbox::Transport::serial) {
        co_return protocol::connect_unix(address_.serial_socket.value);
    }
    auto connecting = protocol::connect_vsock(address_.cid, protocol::limits::vsock_port);
    if (!connecting) co_return connecting;
    // The kernel bounds this wait (SO_VM_SOCKETS_CONNECT_TIMEOUT, 2 s); give_up() cuts it short.
    dialing_.emplace(executor_, connecting->release());
    const auto [error] =
        co_await dialing_->async_wait(boost::asio::posix::descriptor_base::wait_write,
                                      boost::asio::as_tuple(boost::asio::use_awaitable));
    protocol::UniqueFd fd(dialing_->release());
    dialing_.reset();
    if (error)
        co_return protocol::fail(Failure(Kind::unavailable, "connecting to the guest", error));
    int outcome = 0;
    socklen_t size = sizeof outcome;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &outcome, &size) != 0) outcome = errno;
    if (outcome != 0)
        co_return protocol::fail(
            Failure::from_errno("connecting to the guest over vsock", outcome));
    co_return fd;
}

void LinkCore::next_pause() {
    if (!hello_) {
        pause_ = first_dial_pause;
    } else {
        pause_ = std::clamp<std::chrono::milliseconds>(pause_ * 2, protocol::limits::connect_retry,
                                                       protocol::limits::connect_retry_max);
    }
}

boost::asio::awaitable<void> LinkCore::pause() {
    const TimePoint until = std::min(steady_clock::now() + pause_, give_up_at());
    while (!gone_ && steady_clock::now() < until) co_await changed_.wait(until);
}

Result<void> LinkCore::on_hello(protocol::Hello hello) {
    if (!boot_id_.empty() && *hello.boot_id != boot_id_) {
        Failure other = Failure::with_code(Kind::unavailable, "agent-restarted",
                                           "the agent was started anew: the guest has rebooted");
        give_up(other);
        return protocol::fail(std::move(other));
    }
    if (hello_) {
        spdlog::debug("link resumed run={}", run_.str());
    } else {
        spdlog::info("link ready run={} software=\"{}\"", run_.str(), hello.software);
    }
    boot_id_ = *hello.boot_id;
    was_ready_ = true;
    ready_since_ = steady_clock::now();
    give_up_at_ = TimePoint::max();
    if (!hello_) hello_ = std::move(hello);
    // Opening may end an operation, so not while walking the map.
    std::vector<std::shared_ptr<Operation>> waiting;
    for (const auto& [key, operation] : operations_) waiting.push_back(operation);
    for (const auto& operation : waiting) open(operation);
    connected_.notify();
    changed_.notify();
    return {};
}

void LinkCore::on_connection_closed(const Connection& connection, const Failure& why) {
    if (&connection != connection_.get()) return;
    connection_.reset();
    last_trouble_ = why.describe();
    const TimePoint now = steady_clock::now();
    const bool was_ready = std::exchange(was_ready_, false);
    if (was_ready) give_up_at_ = now + patience_.link_lost_limit;
    if (why.kind() == Kind::protocol_violation) {
        ++violations_;
        spdlog::warn("guest broke the protocol run={} count={} what=\"{}\"", run_.str(),
                     violations_, protocol::escape_foreign(why.describe()));
        if (violations_ >= max_violations) {
            give_up(Failure::with_code(Kind::unavailable, "protocol-violations",
                                       "the guest keeps breaking the protocol: " +
                                           protocol::escape_foreign(why.message())));
            return;
        }
    } else {
        spdlog::debug("link closed run={} ready={} why=\"{}\"", run_.str(), was_ready,
                      protocol::escape_foreign(why.describe()));
    }
    if (why.kind() == Kind::unsupported) {
        give_up(why);
        return;
    }
    if (!hello_ && why.kind() == Kind::timed_out) {
        // Nobody has answered in the handshake's time: the guest is still booting. The next
        // preamble must be waiting when it gets there.
        pause_ = 0ms;
    } else if (was_ready) {
        pause_ = now - ready_since_ >= stable_after ? 0ms : protocol::limits::connect_retry;
    } else {
        next_pause();
    }
    changed_.notify();
}

// ---- operations ---------------------------------------------------------------------------------

void LinkCore::add(const std::shared_ptr<Operation>& operation) {
    operation->key = next_key_++;
    if (gone_) {
        operation->on_abandoned(*gone_);
        return;
    }
    operations_[operation->key] = operation;
    open(operation);
}

void LinkCore::reopen(std::uint64_t key) {
    const auto found = operations_.find(key);
    if (found == operations_.end()) return;
    const auto operation = found->second;
    open(operation);
}

void LinkCore::open(const std::shared_ptr<Operation>& operation) {
    if (!connection_ || !connection_->ready() || !operation->wants_stream()) return;
    const auto opened = connection_->open(operation);
    // Anything else is a link that is going down; the next one opens it.
    if (opened || opened.error().kind() != Kind::resource_exhausted) return;
    operations_.erase(operation->key);
    operation->on_abandoned(opened.error());
}

void LinkCore::drop(std::uint64_t key, StreamPort port) {
    operations_.erase(key);
    port.reset();
}

void LinkCore::on_violation(const Failure& why) {
    if (connection_) connection_->fail(Failure(Kind::protocol_violation, why.describe()));
}

void LinkCore::on_operation_over(std::uint64_t key) {
    operations_.erase(key);
}

void LinkCore::on_notice(protocol::PowerNotice notice) {
    if (!closed_ && callbacks_.power) callbacks_.power(std::move(notice));
}

void LinkCore::on_tunnel(sandbox::TunnelKind kind, protocol::Tunnel request,
                         std::shared_ptr<sandbox::TunnelStream> stream) {
    callbacks_.tunnel(kind, std::move(request), std::move(stream));
}

// ---- the end ------------------------------------------------------------------------------------

void LinkCore::expect_silence(bool expected) {
    silence_expected_ = expected;
    if (!expected) {
        give_up_at_ = std::max(give_up_at_, steady_clock::now() + patience_.link_lost_limit);
    }
    changed_.notify();
}

LinkCore::TimePoint LinkCore::give_up_at() const {
    return silence_expected_ ? TimePoint::max() : give_up_at_;
}

void LinkCore::give_up_unreachable() {
    std::string text = "the agent did not answer in time";
    if (hello_) {
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(patience_.link_lost_limit);
        text = "the agent has not answered for " + std::to_string(seconds.count()) + " s";
    }
    if (!last_trouble_.empty()) text += " (last: " + protocol::escape_foreign(last_trouble_) + ")";
    give_up(Failure::with_code(hello_ ? Kind::unavailable : Kind::timed_out, "guest-unavailable",
                               std::move(text)));
}

void LinkCore::give_up(Failure why) {
    if (gone_) return;
    gone_ = std::move(why);
    end_all(*gone_);
    if (!hello_ || closed_ || !callbacks_.lost) return;
    // Posted: we may be deep inside a callback of the link, and our owner may call close().
    boost::asio::post(executor_, [self = shared_from_this()] {
        if (!self->closed_ && self->callbacks_.lost) self->callbacks_.lost(*self->gone_);
    });
}

void LinkCore::close() {
    if (std::exchange(closed_, true)) return;
    const Failure why(Kind::unavailable, "the link to the guest was closed");
    if (!gone_) gone_ = why;
    end_all(why);
    // They may hold our owner. Posted: one of them may be what calls us.
    boost::asio::post(executor_, [self = shared_from_this()] { self->callbacks_ = {}; });
}

void LinkCore::end_all(const Failure& why) {
    if (const auto connection = std::exchange(connection_, nullptr))
        connection->close(why.message());
    if (dialing_) dialing_->cancel();
    const auto operations = std::exchange(operations_, {});
    for (const auto& [key, operation] : operations) operation->on_abandoned(why);
    connected_.notify();
    changed_.notify();
}

}  // namespace host::guest
