#include "host/guest/command_run.hpp"

#include "protocol/wire/json_codec.hpp"

namespace host::guest {

using protocol::Kind;

std::string CommandRun::request() {
    return protocol::encode_request("command.start", start_);
}

Result<void> CommandRun::on_event(std::string_view name, const boost::json::value& payload) {
    if (name == "started") {
        // Heard again on every connection.
        if (const auto started = std::exchange(started_, nullptr); started && !result) started();
        return {};
    }
    if (name == "exited") {
        if (std::exchange(exited_heard_, true)) return violation("a command that exits twice");
        return take(payload);
    }
    return Operation::on_event(name, payload);
}

Result<void> CommandRun::take(const boost::json::value& payload) {
    TRY(auto report, protocol::from_json<protocol::CommandReport>(payload));
    TRY(report, check_report(std::move(report), start_.id, ReportOf::ended_command));
    const std::uint64_t bytes = report.output.bytes + report.error.bytes;
    const bool newer = bytes > heard_bytes_ || report.output_open != heard_open_;
    heard_bytes_ = bytes;
    heard_open_ = report.output_open;
    if (!result) {
        result = std::move(report);
        changed.notify();
    } else if (newer && *result && late_ && !forgotten_) {
        late_(std::move(report));
    }
    return {};
}

Result<void> CommandRun::on_end(Result<boost::json::value> answer) {
    if (!answer) {
        if (!result) result = protocol::fail(std::move(answer).error());
        changed.notify();
        return {};
    }
    const auto* object = answer->if_object();
    if (object != nullptr && object->contains("id")) return take(*answer);
    if (!result) return violation("a command ended without its report");
    return {};
}

void CommandRun::on_abandoned(const Failure& why) {
    if (!result) result = protocol::fail(why);
    changed.notify();
}

}  // namespace host::guest
