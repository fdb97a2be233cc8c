#include "sdk/cpp/output_follower.hpp"

#include "sdk/cpp/client.hpp"

#include <array>

namespace sdk {
namespace {

using namespace std::chrono_literals;
using protocol::fail;
using protocol::Failure;
using protocol::Kind;

constexpr auto silence_limit = 45s;  // several keep-alives late

Failure lost(const std::string& why) {
    return Failure::with_code(Kind::unavailable, connection_lost_code, why);
}

}  // namespace

Result<void> OutputFollower::open(const std::string& run, const std::string& command,
                                  OutputOffsets from) {
    records_ = OutputRecords();
    Request request;
    request.method = "GET";
    request.target = "/v1/runs/" + encode_part(run) + "/commands/" + encode_part(command) +
                     "/output?outputFrom=" + std::to_string(from.standard) +
                     "&errorFrom=" + std::to_string(from.error) + "&lossless=true";
    request.silence_limit = 0ms;  // queued commands wait for their turn
    TRY(const ResponseHead head, connection_.send(request));
    if (head.status >= 400) {
        TRY(const std::string body, connection_.read_rest(1u << 20));
        return fail(read_problem(head, body));
    }
    connection_.set_silence_limit(silence_limit);
    return {};
}

Result<std::optional<OutputRecord>> OutputFollower::next() {
    std::array<char, 64u << 10> piece;
    for (;;) {
        TRY(auto record, records_.next());
        if (record) return record;
        auto count = connection_.read_body(piece.data(), piece.size());
        if (!count && count.error().kind() == Kind::timed_out) {
            connection_.close();
            return fail(lost("the daemon has been silent for too long"));
        }
        if (!count) return fail(std::move(count).error());
        if (*count == 0) {
            if (records_.is_cut_off()) return fail(lost("the live output broke off"));
            return std::nullopt;
        }
        records_.feed(std::string_view(piece.data(), *count));
    }
}

}  // namespace sdk
