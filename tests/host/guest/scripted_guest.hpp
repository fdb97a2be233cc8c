#pragma once
// ScriptedGuest: the other end of a run's link for tests. Listens on a Unix socket like QEMU's
// virtio-serial port and answers as the test says. Loop: runs an io_context until something holds.

#include "host/sandbox/guest.hpp"
#include "protocol/channel/link.hpp"
#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/operations.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>

namespace host::guest {

class Loop {
  public:
    boost::asio::io_context io;

    ~Loop();
    // False: it did not come to hold within ten seconds.
    bool until(const std::function<bool()>& holds);
    // Everything that is due now, and what follows from it.
    void settle();

    // The result of a coroutine once it has one.
    template <typename T>
    std::shared_ptr<std::optional<protocol::Result<T>>> start(sandbox::Async<T> work) {
        auto slot = std::make_shared<std::optional<protocol::Result<T>>>();
        boost::asio::co_spawn(io, std::move(work),
                              [slot](std::exception_ptr error, protocol::Result<T> result) {
                                  if (error) std::rethrow_exception(error);
                                  *slot = std::move(result);
                              });
        return slot;
    }
    template <typename T>
    protocol::Result<T> wait(sandbox::Async<T> work) {
        const auto slot = start(std::move(work));
        if (!until([&] { return slot->has_value(); })) {
            return protocol::fail(protocol::Kind::timed_out, "the test waited in vain");
        }
        return std::move(**slot);
    }
};

class ScriptedGuest final : public protocol::LinkObserver {
  public:
    struct Request {
        protocol::StreamId stream{};
        std::string operation;
        boost::json::value value;
        template <typename T>
        T as() const {
            return protocol::from_json<T>(value).value();
        }
    };

    explicit ScriptedGuest(boost::asio::io_context& io);
    ~ScriptedGuest() override;

    sandbox::GuestAddress address() const;
    void listen();
    // Connections wait unanswered, as in a guest that has not booted or a port that somebody holds.
    void listen_in_silence();
    void drop();  // without a word
    // The connection gets these bytes raw after the host's preamble was answered.
    void answer_with_garbage(std::string bytes) { garbage_ = std::move(bytes); }
    bool connected() const { return link_ != nullptr; }

    void event(protocol::StreamId stream, std::string_view name, const auto& payload) {
        if (!link_) return;
        link_->session().send_event(stream, protocol::encode_event(name, payload));
        link_->flush();
    }
    void end(protocol::StreamId stream, const auto& answer) {
        end_text(stream, protocol::encode_end(answer));
    }
    void end_failure(protocol::StreamId stream, protocol::Kind kind, std::string message) {
        end_text(stream, protocol::encode_end_failure(protocol::Failure(kind, std::move(message))));
    }
    void event_text(protocol::StreamId stream, std::string text);
    void end_text(protocol::StreamId stream, std::string text);
    std::size_t data(protocol::StreamId stream, protocol::Channel channel, std::string_view bytes,
                     bool last);
    void consumed(protocol::StreamId stream, protocol::Channel channel, std::size_t bytes);
    void widen(protocol::StreamId stream, protocol::Channel channel, std::uint32_t bytes);
    protocol::StreamId open(std::string request);

    // ---- what it heard and how it answers ----
    std::string boot_id;
    protocol::Hello hello;
    std::function<void(const Request&)> on_request;  // default: end Done
    std::function<void(const protocol::StreamData&)> on_data;
    std::function<void(protocol::StreamId)> on_writable;
    std::vector<Request> requests;
    std::vector<protocol::StreamId> resets;
    std::vector<std::pair<protocol::StreamId, std::string>> ends;  // of streams it opened
    int connections = 0;

    void on_event(protocol::SessionEvent event) override;
    void on_closed(const protocol::Failure& why) override;

    const Request* last(std::string_view operation) const;
    std::size_t count(std::string_view operation) const;

  private:
    void bind();
    void accept();

    boost::asio::io_context& io_;
    std::string folder_;
    std::string path_;
    boost::asio::local::stream_protocol::acceptor acceptor_;
    std::vector<boost::asio::local::stream_protocol::socket> raw_;
    std::shared_ptr<protocol::Link> link_;
    std::optional<std::string> garbage_;
};

// A command that ended with `code` after printing `text`.
protocol::CommandReport report(const std::string& id, int code, std::string text = "");

}  // namespace host::guest
