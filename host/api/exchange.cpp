#include "host/api/exchange.hpp"

#include "host/api/connection.hpp"
#include "host/api/limits.hpp"
#include "protocol/base/name.hpp"

#include <algorithm>
#include <charconv>

namespace host::api {

namespace asio = boost::asio;
using protocol::fail;
using protocol::Failure;
using protocol::Kind;
using protocol::Result;
using std::chrono::milliseconds;

namespace {

template <typename Integer>
bool read_number(std::string_view text, Integer& number) {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && stop == text.data() + text.size();
}

Failure malformed(std::string_view name, std::string_view what) {
    return Failure(Kind::invalid_argument,
                   "query parameter '" + std::string(name) + "' must be " + std::string(what));
}

// An id that is none names nothing: whoever asks for it shall hear that, and not about its form.
template <typename Id>
Result<Id> read_id(const std::string& text, std::string_view what) {
    if (auto id = Id::parse(text)) return id;
    return fail(Kind::not_found, "there is no " + std::string(what) + " '" +
                                     protocol::escape_foreign(text, 60) + "'");
}

}  // namespace

Exchange::Exchange(Shared& shared, Connection& connection, const RequestHead& head, Match match,
                   Target target, sandbox::Principal principal)
    : shared_(shared),
      connection_(connection),
      head_(head),
      match_(std::move(match)),
      target_(std::move(target)),
      principal_(std::move(principal)) {}

// ---- the request --------------------------------------------------------------------------------

const std::string& Exchange::segment(std::string_view name) const {
    return match_.segments.find(name)->second;
}

Result<std::string> Exchange::name(std::string_view name) const {
    const std::string& text = segment(name);
    if (protocol::is_valid_name(text)) return text;
    return fail(Failure::with_code(
        Kind::invalid_argument, "invalid-name",
        "'" + protocol::escape_foreign(text, 80) + "' is not a name: 1 to 63 of a-z, 0-9 and '-'"));
}

Result<model::QualifiedName> Exchange::qualified(std::string_view last) const {
    model::QualifiedName result;
    TRY(result.space, name("ns"));
    TRY(result.name, name(last));
    return result;
}

Result<protocol::RunId> Exchange::run_id() const {
    return read_id<protocol::RunId>(segment("run"), "run");
}

Result<protocol::CommandId> Exchange::command_id() const {
    return read_id<protocol::CommandId>(segment("command"), "command");
}

Result<bool> Exchange::flag(std::string_view name) const {
    const std::string* text = query(name);
    if (!text || *text == "false") return false;
    if (*text == "true") return true;
    return fail(malformed(name, "true or false"));
}

Result<std::uint64_t> Exchange::count(std::string_view name, std::uint64_t otherwise) const {
    const std::string* text = query(name);
    if (!text) return otherwise;
    std::uint64_t number = 0;
    if (read_number(*text, number)) return number;
    return fail(malformed(name, "a whole number"));
}

Result<milliseconds> Exchange::wait() const {
    const std::string* text = query("wait");
    if (!text) return milliseconds(0);
    std::string_view digits = *text;
    std::uint64_t unit = 1000;
    if (digits.ends_with("ms")) {
        digits.remove_suffix(2);
        unit = 1;
    } else if (digits.ends_with("s")) {
        digits.remove_suffix(1);
    } else {
        digits = {};
    }
    std::uint32_t number = 0;
    if (!digits.empty() && read_number(digits, number)) {
        const milliseconds limit(number * unit);
        if (limit <= limits::long_poll) return limit;
    }
    return fail(malformed("wait", "a time such as 30s or 500ms, at most 60s"));
}

Result<sandbox::Page> Exchange::page() const {
    sandbox::Page page;
    TRY(const std::uint64_t limit, count("limit", page.limit));
    if (limit < 1 || limit > 1000) return fail(malformed("limit", "from 1 to 1000"));
    page.limit = limit;
    if (const std::string* after = query("after")) page.after = *after;
    return page;
}

Result<std::string> Exchange::idempotency_key() const {
    const std::string* key = head_.field("Idempotency-Key");
    if (!key) return std::string();
    const bool visible = std::ranges::all_of(*key, [](char c) { return c > ' ' && c < '\x7F'; });
    if (visible && !key->empty() && key->size() <= limits::idempotency_key_bytes) return *key;
    return fail(Kind::invalid_argument,
                "Idempotency-Key must be 1 to 200 visible ASCII characters");
}

// ---- its body -----------------------------------------------------------------------------------

sandbox::Async<std::string> Exchange::whole_body(std::size_t limit) {
    const auto too_large = [limit] {
        return fail(Kind::too_large, "the body is larger than " + std::to_string(limit) + " bytes");
    };
    if (head_.content_length.value_or(0) > limit) co_return too_large();
    std::string body;
    while (true) {
        auto piece = co_await body_piece(shared_.options.idle_timeout);
        if (!piece) co_return piece;
        if (piece->empty()) co_return body;
        if (body.size() + piece->size() > limit) co_return too_large();
        body += *piece;
    }
}

sandbox::Async<std::string> Exchange::body_piece(milliseconds patience) {
    return connection_.read_body(limits::piece_bytes, patience);
}

// ---- a streamed answer
// ----------------------------------------------------------------------------

sandbox::Async<bool> Exchange::begin(unsigned status, Fields fields,
                                     std::optional<std::uint64_t> length) {
    return connection_.begin(status, std::move(fields), length);
}

sandbox::Async<void> Exchange::send(std::string bytes) {
    return connection_.send(std::move(bytes));
}

sandbox::Async<void> Exchange::finish() {
    return connection_.finish();
}

asio::awaitable<bool> Exchange::gone() {
    co_await connection_.input().wait_end();
    co_return true;
}

}  // namespace host::api
