#include "sdk/cpp/event_stream.hpp"

#include "sdk/cpp/client.hpp"

#include <array>

namespace sdk {
namespace {

using namespace std::chrono_literals;
using protocol::fail;
using protocol::Failure;
using protocol::Kind;

constexpr std::size_t event_limit = 1u << 20;

}  // namespace

Result<void> EventParser::feed(std::string_view bytes, std::deque<Event>& events) {
    for (const char byte : bytes) {
        if (std::exchange(after_return_, byte == '\r') && byte == '\n') continue;
        if (byte == '\n' || byte == '\r') {
            take_line(line_, events);
            line_.clear();
            continue;
        }
        line_.push_back(byte);
        if (line_.size() + event_.data.size() > event_limit) {
            return fail(Kind::too_large, "an event is larger than 1 MiB");
        }
    }
    return {};
}

void EventParser::take_line(std::string_view line, std::deque<Event>& events) {
    if (line.empty()) {
        if (has_data_) events.push_back(event_);
        event_.type.clear();  // the id stays, as the standard says
        event_.data.clear();
        has_data_ = false;
        return;
    }
    const auto colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    std::string_view value;
    if (colon != std::string_view::npos) value = line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (name == "id") {
        event_.id = value;
    } else if (name == "event") {
        event_.type = value;
    } else if (name == "data") {
        if (std::exchange(has_data_, true)) event_.data.push_back('\n');
        event_.data.append(value);
    }
}

Result<void> EventStream::open(const std::string& after) {
    parser_ = EventParser();
    ready_.clear();
    Request request;
    request.method = "GET";
    request.target = "/v1/events";
    request.headers.emplace_back("Accept", "text/event-stream");
    if (!after.empty()) request.headers.emplace_back("Last-Event-ID", after);
    TRY(const ResponseHead head, connection_.send(request));
    if (head.status >= 400) {
        TRY(const std::string body, connection_.read_rest(1u << 20));
        return fail(read_problem(head, body));
    }
    connection_.set_silence_limit(0ms);
    return {};
}

Result<Event> EventStream::next() {
    std::array<char, 16u << 10> piece;
    while (ready_.empty()) {
        TRY(const std::size_t count, connection_.read_body(piece.data(), piece.size()));
        if (count == 0) {
            connection_.close();
            return fail(Failure::with_code(Kind::unavailable, connection_lost_code,
                                           "the daemon ended the stream of events"));
        }
        TRY_VOID(parser_.feed(std::string_view(piece.data(), count), ready_));
    }
    Event event = std::move(ready_.front());
    ready_.pop_front();
    return event;
}

}  // namespace sdk
