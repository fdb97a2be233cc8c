#pragma once
// Exchange: one request and its answer, as handlers see it. Lives on the connection's coroutine
// while the handler runs.

#include "host/api/limits.hpp"
#include "host/api/request_head.hpp"
#include "host/api/response.hpp"
#include "host/api/router.hpp"
#include "host/api/shared.hpp"
#include "protocol/wire/json_codec.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/json/value.hpp>

namespace host::api {

class Connection;

class Exchange {
  public:
    Exchange(Shared& shared, Connection& connection, const RequestHead& head, Match match,
             Target target, sandbox::Principal principal);

    Shared& shared() { return shared_; }
    sandbox::Service& service() { return shared_.service; }
    const sandbox::Principal& principal() const { return principal_; }
    Connection& connection() { return connection_; }
    const RequestHead& head() const { return head_; }
    bool head_only() const { return match_.head; }

    // ---- the request: absent or malformed values are failures with the right code ----
    const std::string& segment(std::string_view name) const;
    protocol::Result<std::string> name(std::string_view segment) const;  // a valid name
    protocol::Result<model::QualifiedName> qualified(std::string_view segment) const;  // in {ns}
    protocol::Result<protocol::RunId> run_id() const;
    protocol::Result<protocol::CommandId> command_id() const;
    const std::string* query(std::string_view name) const { return target_.parameter(name); }
    protocol::Result<bool> flag(std::string_view name) const;  // default false
    protocol::Result<std::uint64_t> count(std::string_view name, std::uint64_t otherwise) const;
    protocol::Result<std::chrono::milliseconds> wait() const;  // 0: absent
    protocol::Result<sandbox::Page> page() const;
    protocol::Result<std::string> idempotency_key() const;  // "" = none

    // ---- its body ----
    sandbox::Async<std::string> whole_body(std::size_t limit = limits::json_body_bytes);
    // "" = the end. `patience`: how long the client may send nothing.
    sandbox::Async<std::string> body_piece(std::chrono::milliseconds patience);
    template <typename T>
    sandbox::Async<T> json_body(std::size_t limit = limits::json_body_bytes);

    // ---- a streamed answer ----
    // Without `length` the answer is chunked. False: nothing may follow (HEAD).
    sandbox::Async<bool> begin(unsigned status, Fields fields, std::optional<std::uint64_t> length);
    sandbox::Async<void> send(std::string bytes);
    sandbox::Async<void> finish();

    // The result, or nullopt when the client went away first; then the work was cancelled.
    template <typename T>
    boost::asio::awaitable<std::optional<protocol::Result<T>>> while_connected(
        sandbox::Async<T> work);
    boost::asio::awaitable<bool> gone();

  private:
    template <typename T>
    static boost::asio::awaitable<std::optional<protocol::Result<T>>> guarded(
        sandbox::Async<T> work);

    Shared& shared_;
    Connection& connection_;
    const RequestHead& head_;
    Match match_;
    Target target_;
    sandbox::Principal principal_;
};

// Decodes strictly: "unknown-member" for members that T does not have, else "invalid-request".
template <typename T>
protocol::Result<T> decode(const std::string& text) {
    using protocol::UnknownMembers;
    auto value = protocol::parse_json(text);
    if (!value) return protocol::fail(std::move(value).error());
    auto tolerant =
        protocol::from_json<T>(*value, UnknownMembers::ignore, protocol::Naming::camel_case);
    if (!tolerant) return tolerant;
    auto strict =
        protocol::from_json<T>(*value, UnknownMembers::refuse, protocol::Naming::camel_case);
    if (strict) return strict;
    return protocol::fail(protocol::Failure::with_code(protocol::Kind::invalid_argument,
                                                       "unknown-member", strict.error().message()));
}

template <typename T>
sandbox::Async<T> Exchange::json_body(std::size_t limit) {
    auto text = co_await whole_body(limit);
    if (!text) co_return protocol::fail(std::move(text).error());
    // A body that says nothing is an empty object: for requests in which everything is optional.
    if (text->find_first_not_of(" \t\r\n") == std::string::npos) *text = "{}";
    co_return decode<T>(*text);
}

// A thrown exception becomes a failure: `||` below would otherwise wait for the other side.
template <typename T>
boost::asio::awaitable<std::optional<protocol::Result<T>>> Exchange::guarded(
    sandbox::Async<T> work) {
    std::optional<protocol::Result<T>> result;
    try {
        protocol::Result<T> value = co_await std::move(work);
        result.emplace(std::move(value));
    } catch (const std::exception& error) {
        result.emplace(protocol::fail(protocol::Kind::internal, error.what()));
    }
    co_return result;
}

template <typename T>
boost::asio::awaitable<std::optional<protocol::Result<T>>> Exchange::while_connected(
    sandbox::Async<T> work) {
    using namespace boost::asio::experimental::awaitable_operators;
    auto safe_work = guarded<T>(std::move(work));
    auto outcome = co_await (std::move(safe_work) || gone());
    if (outcome.index() == 1) co_return std::nullopt;
    co_return std::move(std::get<0>(outcome));
}

}  // namespace host::api
