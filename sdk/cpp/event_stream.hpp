#pragma once
// EventStream: the daemon's events as they happen (server-sent events), over a connection of its
// own. One thread. After a lost connection open() again with the id of the last event that was
// read.

#include "sdk/cpp/connection.hpp"
#include "sdk/cpp/documents.hpp"

#include <deque>

namespace sdk {

// Takes apart text/event-stream; pure.
class EventParser {
  public:
    // Appends the events completed by `bytes` to `events`. too_large for an event above 1 MiB.
    Result<void> feed(std::string_view bytes, std::deque<Event>& events);

  private:
    void take_line(std::string_view line, std::deque<Event>& events);

    std::string line_;
    Event event_;
    bool after_return_ = false;  // the last byte was CR: a LF that follows belongs to it
    bool has_data_ = false;
};

class EventStream {
  public:
    explicit EventStream(Settings settings) : connection_(std::move(settings)) {}

    // "" = from now on.
    Result<void> open(const std::string& after);
    // "connection-lost" when the daemon ends the stream. Repeatable after "interrupted".
    Result<Event> next();

  private:
    Connection connection_;
    EventParser parser_;
    std::deque<Event> ready_;
};

}  // namespace sdk
