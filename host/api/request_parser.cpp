#include "host/api/request_parser.hpp"

#include "host/api/limits.hpp"

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/websocket/rfc6455.hpp>

namespace host::api {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using protocol::fail;
using protocol::Failure;
using protocol::Kind;

namespace {

bool same_letters(std::string_view a, std::string_view b) {
    return beast::iequals(a, b);
}

RequestHead head_of(const http::request<http::buffer_body>& message, bool chunked) {
    RequestHead head;
    head.method = message.method_string();
    head.target = message.target();
    for (const auto& field : message) head.fields.emplace_back(field.name_string(), field.value());
    head.version = message.version();
    head.keep_alive = message.keep_alive();
    head.upgrade = beast::websocket::is_upgrade(message);
    head.chunked = chunked;
    const std::string* expectation = head.field("Expect");
    head.expects_continue = expectation && same_letters(*expectation, "100-continue");
    return head;
}

}  // namespace

const std::string* RequestHead::field(std::string_view name) const {
    const std::string* found = nullptr;
    for (const auto& [other, value] : fields) {
        if (!same_letters(other, name)) continue;
        if (found) return nullptr;
        found = &value;
    }
    return found;
}

struct RequestParser::Impl {
    http::request_parser<http::buffer_body> parser;
};

RequestParser::RequestParser() : impl_(std::make_unique<Impl>()) {
    impl_->parser.header_limit(limits::head_bytes);
    impl_->parser.body_limit(boost::none);  // counted where the route is known
}

RequestParser::~RequestParser() = default;

protocol::Result<bool> RequestParser::parse_head(std::string& bytes) {
    auto& parser = impl_->parser;
    beast::error_code error;
    const std::size_t used = parser.put(asio::buffer(bytes), error);
    bytes.erase(0, used);
    if (error == http::error::need_more) {
        if (bytes.size() <= limits::head_bytes) return false;
        error = http::error::header_limit;
    }
    if (error == http::error::header_limit) {
        return fail(Failure::with_code(Kind::too_large, "headers-too-large",
                                       "the request line and header fields are larger than " +
                                           std::to_string(limits::head_bytes) + " bytes"));
    }
    if (error) return fail(Kind::invalid_argument, "not an HTTP request: " + error.message());
    if (!parser.is_header_done()) return false;

    const auto& message = parser.get();
    if (message.version() != 11 && message.version() != 10) {
        return fail(Kind::unsupported, "only HTTP/1.1 is spoken here");
    }
    // With another transfer coding the length of the body is not what we would take it for.
    const auto coding = message.find(http::field::transfer_encoding);
    if (coding != message.end() && !same_letters(coding->value(), "chunked")) {
        return fail(Kind::unsupported, "the only transfer coding understood is chunked");
    }
    head_ = head_of(message, parser.chunked());
    if (const auto length = parser.content_length()) head_.content_length = *length;
    return true;
}

protocol::Result<std::string> RequestParser::parse_body(std::string& bytes, std::size_t limit) {
    auto& parser = impl_->parser;
    std::string piece(limit, '\0');
    auto& body = parser.get().body();
    body.data = piece.data();
    body.size = piece.size();
    body.more = true;
    std::size_t used = 0;
    while (used < bytes.size() && body.size > 0 && !parser.is_done()) {
        beast::error_code error;
        const std::size_t step =
            parser.put(asio::buffer(bytes.data() + used, bytes.size() - used), error);
        used += step;
        if (error == http::error::need_more || error == http::error::need_buffer) break;
        if (error) return fail(Kind::invalid_argument, "not an HTTP body: " + error.message());
        if (step == 0) break;
    }
    bytes.erase(0, used);
    piece.resize(limit - body.size);
    body.data = nullptr;
    body.size = 0;
    return piece;
}

bool RequestParser::done() const {
    return impl_->parser.is_done();
}

}  // namespace host::api
