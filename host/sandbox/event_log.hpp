#pragma once
// EventLog: what has happened, in order, with numbers that clients resume from. Bounded; old events
// go. Loop thread only.

#include "host/journal/database.hpp"
#include "host/sandbox/clock.hpp"
#include "host/sandbox/condition.hpp"

#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace host::sandbox {

class EventLog {
  public:
    EventLog(journal::Database& database, Clock& clock, boost::asio::any_io_executor executor)
        : database_(database), clock_(clock), appended_(std::move(executor)) {}

    // Stored with whatever transaction is open; those who wait look after the current handler is
    // done.
    protocol::Result<void> append(const std::string& space, std::string_view type,
                                  boost::json::object data);
    Condition& appended() { return appended_; }

  private:
    journal::Database& database_;
    Clock& clock_;
    Condition appended_;
};

boost::json::object describe(const model::RunRecord& run);
boost::json::object describe(const model::CommandRecord& command);

}  // namespace host::sandbox
