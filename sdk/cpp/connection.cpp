#include "sdk/cpp/connection.hpp"

#include "sdk/cpp/socket_stream.hpp"

#include <array>

#include <boost/asio/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace sdk {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;
using protocol::fail;
using protocol::Failure;
using protocol::Kind;

constexpr std::size_t piece_bytes = 64u << 10;
constexpr std::uint32_t header_limit = 64u << 10;

}  // namespace

bool is_connection_failure(const Failure& failure) {
    return failure.code() == unreachable_code || failure.code() == connection_lost_code;
}

Settings Settings::woken_by(const Interrupt* other) const {
    Settings settings = *this;
    settings.interrupt = other;
    return settings;
}

bool is_interrupted(const Failure& failure) {
    return failure.code() == interrupted_code;
}

struct Connection::State {
    explicit State(Settings with) : settings(std::move(with)) {
        // Beast reads as much as there is room for, and makes room for 512 bytes only.
        buffer.reserve(piece_bytes);
    }

    Failure failure_of(const error_code& error, std::string_view doing) const {
        const std::string where = std::string(doing) + " " + settings.endpoint.url;
        if (error == boost::asio::error::operation_aborted) {
            return Failure::with_code(Kind::unavailable, interrupted_code, "interrupted");
        }
        if (error == boost::asio::error::timed_out) {
            return Failure::with_code(Kind::timed_out, "timed-out", "no answer while " + where);
        }
        const bool gone = error == boost::asio::error::eof || error == http::error::end_of_stream ||
                          error == http::error::partial_message;
        return Failure::with_code(
            Kind::unavailable, connection_lost_code,
            "the connection was lost while " + where + (gone ? "" : " (" + error.message() + ")"));
    }

    Result<void> write_body(http::request_serializer<http::buffer_body>& serializer,
                            http::request<http::buffer_body>& message, const Request& request);

    Settings settings;
    std::optional<SocketStream> stream;
    boost::beast::flat_buffer buffer;
    std::optional<http::response_parser<http::buffer_body>> parser;
};

Connection::Connection(Settings settings) : state_(std::make_unique<State>(std::move(settings))) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

const Settings& Connection::settings() const {
    return state_->settings;
}
bool Connection::is_open() const {
    return state_->stream.has_value();
}

void Connection::close() {
    state_->parser.reset();
    state_->stream.reset();
    state_->buffer.clear();
}

Result<void> Connection::open() {
    State& state = *state_;
    const bool clean = !state.parser || (state.parser->is_done() && state.parser->keep_alive());
    if (state.stream && clean && state.buffer.size() == 0 && !state.stream->is_stale()) return {};
    close();
    TRY(state.stream, SocketStream::connect(state.settings.endpoint, state.settings.interrupt));
    return {};
}

Result<void> Connection::State::write_body(http::request_serializer<http::buffer_body>& serializer,
                                           http::request<http::buffer_body>& message,
                                           const Request& request) {
    std::array<char, piece_bytes> piece;
    error_code error;
    for (bool more = true; more;) {
        TRY(const std::size_t count, request.source(piece.data(), piece.size()));
        more = count > 0;
        message.body().data = more ? piece.data() : nullptr;
        message.body().size = count;
        message.body().more = more;
        http::write(*stream, serializer, error);
        if (error == http::error::need_buffer) error = {};
        if (error) return fail(failure_of(error, "sending to"));
    }
    return {};
}

Result<ResponseHead> Connection::send(const Request& request) {
    State& state = *state_;
    TRY_VOID(open());
    state.stream->set_silence_limit(request.silence_limit);
    state.parser.emplace();
    state.parser->body_limit(boost::none);
    state.parser->header_limit(header_limit);

    const auto prepare = [&](auto& message) {
        message.version(11);
        message.method_string(request.method);
        message.target(request.target);
        message.set(http::field::host, state.settings.endpoint.authority());
        message.set(http::field::user_agent, "capsule-client/" CAPSULE_VERSION);
        if (!state.settings.api_key.empty()) {
            message.set(http::field::authorization, "Bearer " + state.settings.api_key);
        }
        for (const auto& [name, value] : request.headers) message.set(name, value);
    };

    error_code error;
    Result<void> sent;
    if (request.source) {
        http::request<http::buffer_body> message;
        prepare(message);
        if (request.source_size) {
            message.content_length(*request.source_size);
        } else {
            message.chunked(true);
        }
        http::request_serializer<http::buffer_body> serializer(message);
        message.body().data = nullptr;
        message.body().more = true;
        http::write_header(*state.stream, serializer, error);
        if (error) {
            sent = fail(state.failure_of(error, "sending to"));
        } else {
            sent = state.write_body(serializer, message, request);
        }
    } else {
        http::request<http::string_body> message;
        prepare(message);
        message.body() = request.body;
        if (!request.body.empty() || (request.method != "GET" && request.method != "DELETE")) {
            message.prepare_payload();
        }
        http::write(*state.stream, message, error);
        if (error) sent = fail(state.failure_of(error, "sending to"));
    }
    // A daemon that refuses a body answers and closes: its reason is still there to be read.
    if (!sent && sent.error().code() != connection_lost_code) {
        close();
        return fail(std::move(sent).error());
    }
    http::read_header(*state.stream, state.buffer, *state.parser, error);
    if (error) {
        Failure failure = sent ? state.failure_of(error, "waiting for") : std::move(sent).error();
        close();
        return fail(std::move(failure));
    }

    ResponseHead head;
    const auto& message = state.parser->get();
    head.status = static_cast<int>(message.result_int());
    head.content_type = std::string(message[http::field::content_type]);
    if (const auto length = state.parser->content_length()) head.content_length = *length;
    if (const auto text = message[http::field::retry_after]; !text.empty()) {
        head.retry_after_seconds =
            static_cast<unsigned>(std::strtoul(std::string(text).c_str(), nullptr, 10));
    }
    if (!sent) state.parser->get().keep_alive(false);
    return head;
}

Result<std::size_t> Connection::read_body(char* data, std::size_t size) {
    State& state = *state_;
    if (!state.parser || !state.stream) return 0;
    auto& body = state.parser->get().body();
    while (!state.parser->is_done()) {
        body.data = data;
        body.size = size;
        error_code error;
        http::read_some(*state.stream, state.buffer, *state.parser, error);
        const std::size_t count = size - body.size;
        if (error == http::error::need_buffer) error = {};
        if (count > 0) return count;
        if (!error) continue;
        Failure failure = state.failure_of(error, "reading from");
        if (failure.code() == connection_lost_code) close();
        return fail(std::move(failure));
    }
    return 0;
}

Result<std::string> Connection::read_rest(std::size_t limit) {
    std::string text;
    std::array<char, piece_bytes> piece;
    for (;;) {
        TRY(const std::size_t count, read_body(piece.data(), piece.size()));
        if (count == 0) return text;
        if (text.size() + count > limit) {
            close();
            return fail(Kind::too_large,
                        "the answer is larger than " + std::to_string(limit) + " bytes");
        }
        text.append(piece.data(), count);
    }
}

void Connection::set_silence_limit(std::chrono::milliseconds limit) {
    if (state_->stream) state_->stream->set_silence_limit(limit);
}

}  // namespace sdk
