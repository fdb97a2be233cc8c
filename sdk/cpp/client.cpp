#include "sdk/cpp/client.hpp"

#include "protocol/base/ids.hpp"
#include "protocol/wire/json_codec.hpp"

#include <array>
#include <poll.h>

#include <boost/json/serialize.hpp>

namespace sdk {
namespace {

using namespace std::chrono_literals;
using protocol::fail;
using protocol::Failure;
using protocol::Kind;

constexpr std::size_t document_limit = 64u << 20;
constexpr auto answer_limit = 60s;  // an ordinary call
constexpr auto poll_wait = 30s;     // one long poll; the daemon answers after this at the latest

Kind kind_of(int status) {
    switch (status) {
        case 401:
            return Kind::unauthenticated;
        case 403:
            return Kind::forbidden;
        case 404:
            return Kind::not_found;
        case 409:
            return Kind::conflict;
        case 413:
            return Kind::too_large;
        case 429:
            return Kind::resource_exhausted;
        case 501:
            return Kind::unsupported;
        case 502:
            return Kind::protocol_violation;
        case 503:
            return Kind::unavailable;
        case 504:
            return Kind::timed_out;
        default:
            return status < 500 ? Kind::invalid_argument : Kind::internal;
    }
}

std::string encode(std::string_view text, std::string_view keep) {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string out;
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
                           (byte >= 'A' && byte <= 'Z') ||
                           keep.find(character) != std::string_view::npos;
        if (plain) {
            out.push_back(character);
        } else {
            out.push_back('%');
            out.push_back(digits[byte >> 4]);
            out.push_back(digits[byte & 15]);
        }
    }
    return out;
}

}  // namespace

std::string encode_path(std::string_view path) {
    return encode(path, "-._~/");
}
std::string encode_part(std::string_view part) {
    return encode(part, "-._~");
}

Failure read_problem(const ResponseHead& head, const std::string& body) {
    const Kind kind = kind_of(head.status);
    const auto value = protocol::parse_json(body);
    const json::object* problem = value ? value->if_object() : nullptr;
    const auto member = [&](std::string_view name) -> std::string {
        const json::value* found = problem != nullptr ? problem->if_contains(name) : nullptr;
        const json::string* text = found != nullptr ? found->if_string() : nullptr;
        return text != nullptr ? std::string(*text) : std::string();
    };
    std::string message = member("detail");
    if (message.empty()) message = member("title");
    if (message.empty()) message = "the daemon answered with status " + std::to_string(head.status);
    const std::string code = member("code");
    return code.empty() ? Failure(kind, message) : Failure::with_code(kind, code, message);
}

Client::Client(Settings settings) : connection_(std::move(settings)) {}

bool Client::pause(std::chrono::steady_clock::time_point lost,
                   std::chrono::milliseconds& delay) const {
    if (std::chrono::steady_clock::now() + delay - lost > reconnect_limit) return false;
    const auto milliseconds = static_cast<int>(delay.count());
    if (const Interrupt* interrupt = settings().interrupt) {
        if (interrupt->wait(milliseconds)) return false;
    } else {
        ::poll(nullptr, 0, milliseconds);
    }
    delay = std::min<std::chrono::milliseconds>(2 * delay, 1s);
    return true;
}

Result<json::value> Client::ask(const Request& request) {
    TRY(const ResponseHead head, connection_.send(request));
    auto body = connection_.read_rest(document_limit);
    if (!body) {
        connection_.close();
        return fail(std::move(body).error());
    }
    if (head.status >= 400) return fail(read_problem(head, *body));
    if (body->empty()) return json::value();
    auto value = protocol::parse_json(*body);
    if (!value) {
        return fail(Kind::protocol_violation,
                    "the daemon's answer is not JSON: " + value.error().message());
    }
    return std::move(*value);
}

Result<json::value> Client::get(std::string target, std::chrono::seconds wait) {
    Request request;
    request.method = "GET";
    request.target = std::move(target);
    request.silence_limit = wait + answer_limit;
    return ask(request);
}

Result<json::value> Client::create(std::string target, json::value body, const std::string& key) {
    Request request;
    request.method = "POST";
    request.target = std::move(target);
    request.headers.emplace_back("Content-Type", "application/json");
    if (!key.empty()) request.headers.emplace_back("Idempotency-Key", key);
    request.body = json::serialize(body);
    request.silence_limit = answer_limit;
    return ask(request);
}

Result<json::value> Client::post(std::string target, json::value body) {
    return create(std::move(target), std::move(body), "");
}

Result<void> Client::remove_at(std::string target) {
    Request request;
    request.method = "DELETE";
    request.target = std::move(target);
    TRY([[maybe_unused]] const auto answer, ask(request));
    return {};
}

// ---- the daemon -----------------------------------------------------------------------------

Result<json::object> object_of(Result<json::value> answer) {
    if (!answer) return fail(std::move(answer).error());
    if (!answer->is_object()) return fail(Kind::protocol_violation, "the answer is not an object");
    return std::move(answer->get_object());
}

namespace {

std::string runs_target(const RunFilter& filter) {
    std::string target = "/v1/runs";
    char separator = '?';
    const auto add = [&](std::string_view name, const std::string& value) {
        if (value.empty()) return;
        target.append(1, separator).append(name).append("=").append(encode_part(value));
        separator = '&';
    };
    add("namespace", filter.space);
    add("status", filter.status);
    add("live", filter.live_only ? "true" : "");
    add("limit", filter.limit > 0 ? std::to_string(filter.limit) : "");
    add("after", filter.after);
    return target;
}

std::string run_target(const std::string& run) {
    return "/v1/runs/" + encode_part(run);
}

std::string command_target(const std::string& run, const std::string& command) {
    return run_target(run) + "/commands/" + encode_part(command);
}

std::string fresh_key() {
    return protocol::CommandId::random().str();
}

}  // namespace

Result<json::object> Client::health() {
    return object_of(get("/health"));
}
Result<json::object> Client::host() {
    return object_of(get("/v1/host"));
}

Result<json::object> Client::create_key(const std::string& label,
                                        const std::vector<std::string>& namespaces) {
    json::object body;
    body["label"] = label;
    json::array spaces;
    for (const std::string& space : namespaces) spaces.emplace_back(space);
    body["namespaces"] = std::move(spaces);
    return object_of(post("/v1/keys", std::move(body)));
}

Result<json::array> Client::keys() {
    TRY(json::object answer, object_of(get("/v1/keys")));
    json::value* items = answer.if_contains("items");
    if (items == nullptr || !items->is_array()) {
        return fail(Kind::protocol_violation, "the answer has no items");
    }
    return std::move(items->get_array());
}

Result<void> Client::delete_key(const std::string& id) {
    return remove_at("/v1/keys/" + encode_part(id));
}

// ---- runs -----------------------------------------------------------------------------------

Result<Run> Client::start(const std::string& space, const std::string& capsule) {
    TRY_VOID(open());
    const std::string target =
        "/v1/namespaces/" + encode_part(space) + "/capsules/" + encode_part(capsule) + "/runs";
    const std::string key = fresh_key();
    TRY(const json::value answer,
        reconnecting([&] { return create(target, json::object(), key); }));
    return read_run(answer);
}

Result<Page<Run>> Client::runs(const RunFilter& filter) {
    TRY(const json::value answer, get(runs_target(filter)));
    return read_page<Run>(answer, "items", read_run);
}

Result<Run> Client::run(const std::string& id) {
    TRY(const json::value answer, get(run_target(id)));
    return read_run(answer);
}

Result<Run> Client::wait_run(const std::string& id, Until until) {
    const std::string target = run_target(id) + "?wait=" + std::to_string(poll_wait.count()) +
                               "s&until=" + (until == Until::started ? "started" : "ended");
    for (;;) {
        TRY(const json::value answer, reconnecting([&] { return get(target, poll_wait); }));
        TRY(Run run, read_run(answer));
        if (until == Until::started ? run.has_started() : run.has_ended()) return run;
    }
}

Result<Run> Client::terminate(const std::string& id) {
    TRY_VOID(open());
    // Stopping twice is not an error, so it may be repeated.
    TRY(const json::value answer,
        reconnecting([&] { return post(run_target(id) + "/terminate", json::object()); }));
    return read_run(answer);
}

Result<std::chrono::microseconds> Client::ping(const std::string& id) {
    TRY(const json::value answer, get(run_target(id) + "/ping"));
    const json::object* object = answer.if_object();
    const json::value* took = object != nullptr ? object->if_contains("roundTripUs") : nullptr;
    const std::int64_t* number = took != nullptr ? took->if_int64() : nullptr;
    if (number == nullptr) {
        return fail(Kind::protocol_violation, "the daemon's answer has no roundTripUs");
    }
    return std::chrono::microseconds(*number);
}

Result<void> Client::console(const std::string& id, const BodyWriter& write) {
    Request request;
    request.method = "GET";
    request.target = run_target(id) + "/console";
    TRY(const ResponseHead head, connection_.send(request));
    if (head.status >= 400) {
        TRY(const std::string body, connection_.read_rest(document_limit));
        return fail(read_problem(head, body));
    }
    std::array<char, 64u << 10> piece;
    for (;;) {
        TRY(const std::size_t count, connection_.read_body(piece.data(), piece.size()));
        if (count == 0) return {};
        TRY_VOID(write(std::string_view(piece.data(), count)));
    }
}

// ---- commands -------------------------------------------------------------------------------

Result<Command> Client::exec(const std::string& run, const ExecRequest& request) {
    TRY_VOID(open());
    const json::value body = write_exec_request(request);
    const std::string key = fresh_key();
    TRY(const json::value answer,
        reconnecting([&] { return create(run_target(run) + "/commands", body, key); }));
    return read_command(answer);
}

Result<Page<Command>> Client::commands(const std::string& run, const std::string& after) {
    TRY(const json::value answer,
        get(run_target(run) + "/commands" + (after.empty() ? "" : "?after=" + encode_part(after))));
    return read_page<Command>(answer, "items", read_command);
}

Result<Command> Client::command(const std::string& run, const std::string& id) {
    TRY(const json::value answer, get(command_target(run, id)));
    return read_command(answer);
}

Result<Command> Client::command(const std::string& run, const std::string& id,
                                std::chrono::seconds limit) {
    const std::string target =
        command_target(run, id) + "?wait=" + std::to_string(limit.count()) + "s";
    TRY(const json::value answer, get(target, limit));
    return read_command(answer);
}

Result<Command> Client::kill(const std::string& run, const std::string& id, int signal) {
    json::object body;
    body["signal"] = signal;
    TRY(const json::value answer, post(command_target(run, id) + "/kill", std::move(body)));
    return read_command(answer);
}

Result<void> Client::resize(const std::string& run, const std::string& id, TerminalSize size) {
    json::object body;
    body["rows"] = size.rows;
    body["columns"] = size.columns;
    TRY([[maybe_unused]] const auto answer,
        post(command_target(run, id) + "/resize", std::move(body)));
    return {};
}

Result<void> Client::send_input(const std::string& run, const std::string& id, std::uint64_t from,
                                BodyReader source) {
    Request request;
    request.method = "POST";
    request.target =
        command_target(run, id) + "/input?from=" + std::to_string(from) + "&close=true";
    request.headers.emplace_back("Content-Type", "application/octet-stream");
    request.source = std::move(source);
    request.silence_limit = 0ms;  // a program may leave its input unread as long as it likes
    TRY([[maybe_unused]] const auto answer, ask(request));
    return {};
}

}  // namespace sdk
