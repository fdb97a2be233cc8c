#include "host/guest/report_check.hpp"

#include "protocol/base/ids.hpp"
#include "protocol/base/name.hpp"
#include "protocol/text/utf8_decoder.hpp"
#include "protocol/wire/limits.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace host::guest {

using protocol::Kind;

namespace {

constexpr auto largest_stored =
    static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

bool starts_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u;
}

std::string well_formed(std::string text) {
    if (protocol::is_valid_utf8(text)) return text;
    protocol::Utf8Decoder decoder;
    std::string out;
    decoder.decode(text, out);
    decoder.finish(out);
    return out;
}

// The last `limit` characters of well-formed text.
std::uint64_t cut_front(std::string& text, std::uint64_t limit) {
    const auto count =
        static_cast<std::uint64_t>(std::count_if(text.begin(), text.end(), starts_character));
    if (count <= limit) return count;
    std::uint64_t skip = count - limit;
    std::size_t at = 0;
    for (; at < text.size(); ++at) {
        if (!starts_character(text[at])) continue;
        if (skip == 0) break;
        --skip;
    }
    text.erase(0, at);
    return limit;
}

std::string cut_back(std::string text, std::size_t limit) {
    text = well_formed(std::move(text));
    if (text.size() <= limit) return text;
    std::size_t at = limit;
    while (at > 0 && !starts_character(text[at])) --at;
    text.resize(at);
    return text;
}

void make_consistent(protocol::OutputReport& output) {
    output.window = well_formed(std::move(output.window));
    const auto shown = cut_front(output.window, protocol::limits::output_window_characters);
    output.characters = std::clamp(output.characters, shown, largest_stored);
    // Every character came from at least one byte.
    output.bytes = std::clamp(output.bytes, output.characters, largest_stored);
}

bool is_end(std::string_view kind) {
    constexpr std::array<std::string_view, 6> ends = {"exited",      "signaled", "timedOut",
                                                      "outOfMemory", "killed",   "failedToStart"};
    return std::find(ends.begin(), ends.end(), kind) != ends.end();
}

}  // namespace

Result<protocol::CommandReport> check_report(protocol::CommandReport report, const std::string& id,
                                             ReportOf what) {
    if (report.id != id) {
        return violation("report of a command that was not asked: " +
                         protocol::escape_foreign(report.id, 64));
    }
    const bool running = report.kind.empty();
    if (running ? what == ReportOf::ended_command : !is_end(report.kind)) {
        return violation("report with an unknown end: " +
                         protocol::escape_foreign(report.kind, 64));
    }
    if (report.code < 0 || report.code > 255) {
        return violation("report with exit code " + std::to_string(report.code));
    }
    if (report.signal && (*report.signal < 1 || *report.signal > 64)) {
        return violation("report with signal " + std::to_string(*report.signal));
    }
    if (report.message) report.message = cut_back(std::move(*report.message), guest_text_bytes);
    report.run_time_ms = std::min(report.run_time_ms, largest_stored);
    if (report.peak_memory_bytes) {
        report.peak_memory_bytes = std::min(*report.peak_memory_bytes, largest_stored);
    }
    make_consistent(report.output);
    make_consistent(report.error);
    return report;
}

Result<protocol::Hello> check_hello(protocol::Hello hello) {
    if (hello.generation_min > hello.generation_max)
        return violation("hello with crossed generations");
    if (hello.generation_min > protocol::generation ||
        hello.generation_max < protocol::generation) {
        return protocol::fail(Kind::unsupported, "the agent speaks protocol generations " +
                                                     std::to_string(hello.generation_min) + " to " +
                                                     std::to_string(hello.generation_max) +
                                                     ", this daemon speaks " +
                                                     std::to_string(protocol::generation));
    }
    if (!hello.boot_id || !protocol::BootId::parse(*hello.boot_id)) {
        return violation("hello without a boot id");
    }
    hello.software = protocol::escape_foreign(hello.software, 100);
    // No feature is defined yet; names we do not know are of no use to anybody.
    hello.features.clear();
    return hello;
}

Failure checked_failure(const protocol::RemoteFailure& failure) {
    // The others would speak for parts of the host that an agent knows nothing of.
    constexpr std::array kinds = {
        Kind::invalid_argument, Kind::not_found,   Kind::conflict,
        Kind::too_large,        Kind::timed_out,   Kind::resource_exhausted,
        Kind::unsupported,      Kind::unavailable, Kind::io};
    Kind kind = Kind::io;
    for (const Kind known : kinds) {
        if (protocol::to_string(known) == failure.kind) kind = known;
    }
    return Failure(kind, protocol::escape_foreign(failure.message, guest_text_bytes));
}

Result<protocol::PowerNotice> check_notice(protocol::PowerNotice notice) {
    constexpr std::array<std::string_view, 4> actions = {"poweroff", "reboot", "halt", "deadline"};
    if (std::find(actions.begin(), actions.end(), notice.action) == actions.end()) {
        return violation("power notice with an unknown action: " +
                         protocol::escape_foreign(notice.action, 64));
    }
    return notice;
}

}  // namespace host::guest
