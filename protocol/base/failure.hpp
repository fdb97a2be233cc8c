#pragma once
// Failure: why the world did not do what was asked. Used by every layer as the error half of
// Result<T>. A program that failed inside a capsule is *not* a Failure but a value (Outcome); a bug
// of our own is an assertion. No thread rules: a plain value.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace protocol {

// What class of thing went wrong. Each kind maps to exactly one HTTP status and one default code;
// the mapping lives in host/api/problem.cpp.
enum class Kind : std::uint8_t {
    invalid_argument,    // the request cannot be right, whatever the state: 400
    unauthenticated,     // 401
    forbidden,           // 403
    not_found,           // 404
    conflict,            // right request, wrong state (name taken, run has ended): 409
    too_large,           // 413
    resource_exhausted,  // no room now, try later: 503
    unavailable,         // a part we depend on does not answer (libvirt, guest): 503
    timed_out,           // 504
    protocol_violation,  // a peer broke the host link's rules: 502
    io,                  // the operating system refused: 500
    unsupported,         // not on this host or not in this version: 501
    internal,            // should not happen: 500
};

std::string_view to_string(Kind kind);
// The inverse, for a kind a peer has named; nullopt for one that this version does not know.
std::optional<Kind> kind_from_string(std::string_view text);

// Not an aggregate on purpose: g++ 12.2 destroys temporaries of aggregates twice inside a co_await
// expression.
class Failure {
  public:
    Failure(Kind kind, std::string message, std::error_code cause = {});
    // `code` is the stable, kebab-case name clients may test for, e.g. "run-ended".
    static Failure with_code(Kind kind, std::string code, std::string message);
    // From errno right after a failed system call; `what` names the call and its object.
    static Failure from_errno(std::string what, int error_number);

    Kind kind() const { return kind_; }
    const std::string& code() const { return code_; }
    const std::string& message() const { return message_; }
    const std::error_code& cause() const { return cause_; }

    // Adds what was being done, outermost last. Returns *this so that it can be chained in a
    // return.
    Failure& context(std::string line) &;
    Failure&& context(std::string line) &&;

    // "context: context: message (cause)", one line.
    std::string describe() const;

  private:
    Kind kind_;
    std::string code_;
    std::string message_;
    std::error_code cause_;
    std::vector<std::string> context_;
};

}  // namespace protocol
