#include "host/sandbox/event_log.hpp"

#include "host/model/defaults.hpp"

#include <boost/json/serialize.hpp>

namespace host::sandbox {

namespace {
// Trimming at each append would double the work for nothing.
constexpr std::uint64_t trim_every = 256;
}  // namespace

protocol::Result<void> EventLog::append(const std::string& space, std::string_view type,
                                        boost::json::object data) {
    model::EventRecord event;
    event.space = space;
    event.type = type;
    event.data = boost::json::serialize(data);
    event.at = clock_.unix_ms();
    TRY(const std::uint64_t id, database_.append_event(event));
    if (id % trim_every == 0) TRY_VOID(database_.trim_events(model::defaults::events_kept));
    appended_.wake_all();
    return {};
}

boost::json::object describe(const model::RunRecord& run) {
    boost::json::object data;
    data["runId"] = run.id.str();
    data["namespace"] = run.capsule.space;
    data["capsule"] = run.capsule.name;
    data["status"] = to_string(run.status);
    data["phase"] = to_string(run.phase);
    if (!run.failure_details.empty()) data["failureDetails"] = run.failure_details;
    return data;
}

boost::json::object describe(const model::CommandRecord& command) {
    boost::json::object data;
    data["runId"] = command.run.str();
    data["commandId"] = command.id.str();
    data["sequence"] = command.sequence;
    data["status"] = to_string(command.status);
    if (command.end_reason != model::EndReason::none) {
        data["endReason"] = to_string(command.end_reason);
    }
    if (command.exit_code) data["exitCode"] = *command.exit_code;
    return data;
}

}  // namespace host::sandbox
