#pragma once
// What a guest says, before anybody uses it. Pure functions. Two answers are possible: a value that
// keeps every promise of its type (texts cut, lengths made consistent), or protocol_violation where
// no honest agent could have said it.

#include "protocol/base/result.hpp"
#include "protocol/wire/messages.hpp"

#include <string>

namespace host::guest {

using protocol::Failure;
using protocol::Result;

// A rule that no honest agent breaks.
inline tl::unexpected<Failure> violation(std::string what) {
    return protocol::fail(protocol::Kind::protocol_violation, std::move(what));
}

// Longest text of a guest (message, software name) that is passed on, in bytes.
inline constexpr std::size_t guest_text_bytes = 4'096;

enum class ReportOf : std::uint8_t { ended_command, any_command };

// `id`: the command that was asked about. The window keeps its last 65,536 characters, lengths are
// at least what the window shows and at most what a database integer holds.
Result<protocol::CommandReport> check_report(protocol::CommandReport report, const std::string& id,
                                             ReportOf what);

// Generations overlap, the boot id is a UUID; the software's name is escaped and cut. unsupported
// when the generations do not meet.
Result<protocol::Hello> check_hello(protocol::Hello hello);

// A failure told by the agent: only kinds that an agent can know, text escaped and cut.
Failure checked_failure(const protocol::RemoteFailure& failure);

Result<protocol::PowerNotice> check_notice(protocol::PowerNotice notice);

}  // namespace host::guest
