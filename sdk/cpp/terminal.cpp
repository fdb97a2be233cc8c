#include "sdk/cpp/terminal.hpp"

#include "protocol/wire/json_codec.hpp"
#include "sdk/cpp/client.hpp"
#include "sdk/cpp/socket_stream.hpp"

#include <array>
#include <deque>
#include <poll.h>
#include <thread>
#include <unistd.h>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/json/serialize.hpp>

namespace sdk {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;
using protocol::fail;
using protocol::Failure;
using protocol::Kind;
using Socket = asio::generic::stream_protocol::socket;

struct Message {
    Message(bool is_binary, std::string content) : binary(is_binary), bytes(std::move(content)) {}
    bool binary;
    std::string bytes;
};

// Lives on one io_context in one thread; the input thread only posts to it.
class Loop {
  public:
    Loop(asio::io_context& context, Socket socket, const TerminalPort& port,
         TerminalProgress& progress)
        : context_(context), websocket_(std::move(socket)), port_(port), progress_(progress) {}

    Result<void> handshake(const Settings& settings, const std::string& target) {
        websocket_.set_option(
            websocket::stream_base::decorator([&settings](websocket::request_type& request) {
                if (!settings.api_key.empty()) {
                    request.set(beast::http::field::authorization, "Bearer " + settings.api_key);
                }
            }));
        websocket_.read_message_max(1u << 20);
        websocket::response_type response;
        error_code error;
        websocket_.handshake(response, settings.endpoint.authority(), target, error);
        if (error == websocket::error::upgrade_declined) {
            ResponseHead head;
            head.status = static_cast<int>(response.result_int());
            return fail(read_problem(head, response.body()));
        }
        if (error) {
            return fail(Failure::with_code(Kind::unavailable, connection_lost_code,
                                           "the terminal could not be opened at " +
                                               settings.endpoint.url + " (" + error.message() +
                                               ")"));
        }
        return {};
    }

    TerminalEnd run() {
        if (port_.size) send_size();
        if (!progress_.input.bytes().empty()) send(Message(true, progress_.input.bytes()));
        read();
        std::thread watcher([this] { watch(); });
        context_.run();
        stop_.raise();
        watcher.join();
        return end_;
    }

  private:
    void read() {
        websocket_.async_read(incoming_, [this](error_code error, std::size_t) {
            if (error) return finish();
            const std::string_view bytes(static_cast<const char*>(incoming_.data().data()),
                                         incoming_.size());
            if (websocket_.got_binary()) {
                progress_.output_offset += bytes.size();
                port_.output(bytes);
            } else {
                take_text(bytes);
            }
            incoming_.consume(incoming_.size());
            read();
        });
    }

    void take_text(std::string_view text) {
        const auto value = protocol::parse_json(text);
        const json::object* object = value ? value->if_object() : nullptr;
        const json::value* code = object != nullptr ? object->if_contains("exitCode") : nullptr;
        if (code != nullptr && code->is_int64())
            end_.exit_code = static_cast<int>(code->get_int64());
    }

    void send(Message message) {
        outgoing_.push_back(std::move(message));
        if (outgoing_.size() == 1) write();
    }

    void write() {
        websocket_.binary(outgoing_.front().binary);
        websocket_.async_write(asio::buffer(outgoing_.front().bytes),
                               [this](error_code error, std::size_t) {
                                   if (error) return finish();
                                   if (outgoing_.front().binary) input_sent_.raise();
                                   outgoing_.pop_front();
                                   if (!outgoing_.empty()) write();
                               });
    }

    void send_size() {
        const TerminalSize now = port_.size();
        json::object size;
        size["rows"] = now.rows;
        size["columns"] = now.columns;
        json::object message;
        message["resize"] = std::move(size);
        send(Message(false, json::serialize(message)));
    }

    void finish() {
        error_code ignored;
        beast::get_lowest_layer(websocket_).close(ignored);
        stop_.raise();
    }

    void leave() {
        end_.hung_up = true;
        websocket_.async_close(websocket::close_code::normal, [this](error_code) { finish(); });
    }

    // The input thread: waits for the terminal, the window's size and the end. Input goes out one
    // piece at a time, so a slow peer holds it back.
    void watch() {
        std::array<char, 16u << 10> piece;
        bool may_read = port_.input_fd >= 0;
        for (;;) {
            std::array<pollfd, 5> waiting{{
                {stop_.fd(), POLLIN, 0},
                {port_.hang_up != nullptr ? port_.hang_up->fd() : -1, POLLIN, 0},
                {port_.resized != nullptr ? port_.resized->fd() : -1, POLLIN, 0},
                {input_sent_.fd(), POLLIN, 0},
                {may_read ? port_.input_fd : -1, POLLIN, 0},
            }};
            if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
            if (waiting[0].revents != 0) return;
            if (waiting[1].revents != 0) {
                asio::post(context_, [this] { leave(); });
                return;
            }
            if (waiting[2].revents != 0) {
                port_.resized->clear();
                asio::post(context_, [this] { send_size(); });
            }
            if (waiting[3].revents != 0) {
                input_sent_.clear();
                may_read = true;
                continue;
            }
            if (waiting[4].revents == 0) continue;
            may_read = false;
            const ssize_t count = ::read(port_.input_fd, piece.data(), piece.size());
            if (count <= 0) {
                // The terminal is gone: so are we.
                asio::post(context_, [this] { leave(); });
                return;
            }
            std::string bytes(piece.data(), static_cast<std::size_t>(count));
            asio::post(context_, [this, bytes = std::move(bytes)]() mutable {
                progress_.input.append(bytes);
                send(Message(true, std::move(bytes)));
            });
        }
    }

    asio::io_context& context_;
    websocket::stream<Socket> websocket_;
    const TerminalPort& port_;
    TerminalProgress& progress_;
    beast::flat_buffer incoming_;
    std::deque<Message> outgoing_;
    Interrupt stop_, input_sent_;
    TerminalEnd end_;
};

}  // namespace

Result<TerminalEnd> run_terminal(const Settings& settings, const std::string& run,
                                 const std::string& command, const TerminalPort& port,
                                 TerminalProgress& progress) {
    TRY(SocketStream stream, SocketStream::connect(settings.endpoint, settings.interrupt));
    asio::io_context context(1);
    const int family =
        settings.endpoint.family == Endpoint::Family::unix_socket ? AF_UNIX : AF_INET;
    Socket socket(context);
    error_code error;
    socket.assign(asio::generic::stream_protocol(family, 0), stream.release().release(), error);
    if (error) return fail(Kind::internal, "socket: " + error.message());

    Loop loop(context, std::move(socket), port, progress);
    const std::string target = "/v1/runs/" + encode_part(run) + "/commands/" +
                               encode_part(command) +
                               "/terminal?outputFrom=" + std::to_string(progress.output_offset) +
                               "&inputFrom=" + std::to_string(progress.input.start());
    TRY_VOID(loop.handshake(settings, target));
    return loop.run();
}

}  // namespace sdk
