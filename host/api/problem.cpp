#include "host/api/problem.hpp"

#include "host/api/records_json.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace host::api {

using protocol::Failure;
using protocol::Kind;

namespace {

constexpr std::array codes = {
    ProblemCode{"invalid-request", 400, "The request is not valid"},
    ProblemCode{"unknown-member", 400, "The request has a member that is not known"},
    ProblemCode{"invalid-name", 400, "Not a valid name"},
    ProblemCode{"definition-invalid", 400, "A definition is not valid; nothing was deployed"},
    ProblemCode{"unauthenticated", 401, "A valid key is needed"},
    ProblemCode{"forbidden", 403, "Not allowed with this key"},
    ProblemCode{"not-found", 404, "There is no such thing"},
    ProblemCode{"method-not-allowed", 405, "This method does not exist here"},
    ProblemCode{"request-timeout", 408, "The request did not arrive in time"},
    ProblemCode{"conflict", 409, "Not possible in the present state"},
    ProblemCode{"already-exists", 409, "The name is taken"},
    ProblemCode{"in-use", 409, "It is in use"},
    ProblemCode{"not-empty", 409, "It is not empty"},
    ProblemCode{"is-a-link", 409, "The path leads through a link"},
    ProblemCode{"is-a-folder", 409, "The path is a folder"},
    ProblemCode{"not-a-folder", 409, "A part of the path is not a folder"},
    ProblemCode{"not-a-file", 409, "The path is neither a file nor a folder"},
    ProblemCode{"input-closed", 409, "The command no longer reads its input"},
    ProblemCode{"run-ended", 409, "The run has ended"},
    ProblemCode{"command-ended", 409, "The command has ended"},
    ProblemCode{"idempotency-mismatch", 409, "The idempotency key was used for another request"},
    ProblemCode{"too-large", 413, "The body is too large"},
    ProblemCode{"range-not-satisfiable", 416, "The range lies outside of the file"},
    ProblemCode{"upgrade-required", 426, "A WebSocket is needed here"},
    ProblemCode{"headers-too-large", 431, "The header fields are too large"},
    ProblemCode{"internal", 500, "Something went wrong in the daemon"},
    ProblemCode{"io", 500, "The host's operating system refused"},
    ProblemCode{"unsupported", 501, "Not supported on this host or in this version"},
    ProblemCode{"bad-guest", 502, "The machine's agent broke the rules"},
    ProblemCode{"no-room", 503, "There is no room for this now"},
    ProblemCode{"too-many-waiting", 503, "Too many clients are waiting"},
    ProblemCode{"too-many-connections", 503, "Too many clients are connected"},
    ProblemCode{"image-missing", 503, "The image is not there"},
    ProblemCode{"image-damaged", 500, "A file of the image is not what its manifest describes"},
    ProblemCode{"hypervisor-unavailable", 503, "libvirt does not answer"},
    ProblemCode{"guest-unavailable", 503, "The machine's agent does not answer"},
    ProblemCode{"timed-out", 504, "It took too long"},
    ProblemCode{"disk-full", 507, "The host's disk is full"},
};

std::string_view default_code(Kind kind) {
    switch (kind) {
        case Kind::invalid_argument:
            return "invalid-request";
        case Kind::unauthenticated:
            return "unauthenticated";
        case Kind::forbidden:
            return "forbidden";
        case Kind::not_found:
            return "not-found";
        case Kind::conflict:
            return "conflict";
        case Kind::too_large:
            return "too-large";
        case Kind::resource_exhausted:
            return "no-room";
        case Kind::unavailable:
            return "guest-unavailable";
        case Kind::timed_out:
            return "timed-out";
        case Kind::protocol_violation:
            return "bad-guest";
        case Kind::io:
            return "io";
        case Kind::unsupported:
            return "unsupported";
        case Kind::internal:
            return "internal";
    }
    return "internal";
}

boost::json::object document(const ProblemCode& entry, std::string_view code,
                             std::string_view detail) {
    boost::json::object result;
    result["type"] = "urn:capsule:problem:" + std::string(code);
    result["title"] = entry.title;
    result["status"] = entry.status;
    result["detail"] = json_text(detail);
    result["code"] = code;
    return result;
}

Response respond(const ProblemCode& entry, const boost::json::object& body) {
    Response response = Response::json(entry.status, body);
    response.fields.front().second = "application/problem+json";
    if (entry.status == 401) response.fields.emplace_back("WWW-Authenticate", "Bearer");
    if (entry.status == 503) response.fields.emplace_back("Retry-After", "1");
    return response;
}

}  // namespace

std::span<const ProblemCode> problem_codes() {
    return codes;
}

const ProblemCode* find_problem(std::string_view code) {
    const auto* found = std::ranges::find(codes, code, &ProblemCode::code);
    return found == codes.end() ? nullptr : found;
}

const ProblemCode& problem_of(const Failure& failure) {
    if (const auto* found = find_problem(failure.code())) return *found;
    const auto& cause = failure.cause();
    if (cause == std::errc::no_space_on_device ||
        cause == std::error_code(EDQUOT, std::generic_category())) {
        return *find_problem("disk-full");
    }
    return *find_problem(default_code(failure.kind()));
}

Response problem(const Failure& failure) {
    const ProblemCode& entry = problem_of(failure);
    std::string detail = failure.message();
    if (failure.cause()) detail += " (" + failure.cause().message() + ")";
    // A code that the table does not have is kept: it is more exact than the kind's.
    const std::string_view code =
        failure.code().empty() ? entry.code : std::string_view(failure.code());
    return respond(entry, document(entry, code, detail));
}

Response problem(std::string_view code, std::string detail) {
    const auto* entry = find_problem(code);
    const ProblemCode& known = entry ? *entry : *find_problem("internal");
    return respond(known, document(known, known.code, detail));
}

Response definition_problem(const std::vector<sandbox::Diagnostic>& findings) {
    const ProblemCode& entry = *find_problem("definition-invalid");
    const auto& first = findings.front();
    boost::json::object body = document(entry, entry.code,
                                        first.file + ":" + std::to_string(first.line) + ":" +
                                            std::to_string(first.column) + ": " + first.message);
    boost::json::array errors;
    for (const auto& finding : findings) {
        boost::json::object item;
        item["file"] = json_text(finding.file);
        item["line"] = finding.line;
        item["column"] = finding.column;
        item["name"] = json_text(finding.name);
        item["message"] = json_text(finding.message);
        errors.push_back(std::move(item));
    }
    body["errors"] = std::move(errors);
    return respond(entry, body);
}

}  // namespace host::api
