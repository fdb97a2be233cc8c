#include "protocol/base/failure.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace protocol {
namespace {

constexpr std::array all_kinds = {
    Kind::invalid_argument,
    Kind::unauthenticated,
    Kind::forbidden,
    Kind::not_found,
    Kind::conflict,
    Kind::too_large,
    Kind::resource_exhausted,
    Kind::unavailable,
    Kind::timed_out,
    Kind::protocol_violation,
    Kind::io,
    Kind::unsupported,
    Kind::internal,
};

}  // namespace

std::string_view to_string(Kind kind) {
    switch (kind) {
        case Kind::invalid_argument:
            return "invalid_argument";
        case Kind::unauthenticated:
            return "unauthenticated";
        case Kind::forbidden:
            return "forbidden";
        case Kind::not_found:
            return "not_found";
        case Kind::conflict:
            return "conflict";
        case Kind::too_large:
            return "too_large";
        case Kind::resource_exhausted:
            return "resource_exhausted";
        case Kind::unavailable:
            return "unavailable";
        case Kind::timed_out:
            return "timed_out";
        case Kind::protocol_violation:
            return "protocol_violation";
        case Kind::io:
            return "io";
        case Kind::unsupported:
            return "unsupported";
        case Kind::internal:
            return "internal";
    }
    return "internal";
}

std::optional<Kind> kind_from_string(std::string_view text) {
    const auto* found =
        std::ranges::find(all_kinds, text, [](Kind kind) { return to_string(kind); });
    if (found == all_kinds.end()) return std::nullopt;
    return *found;
}

Failure::Failure(Kind kind, std::string message, std::error_code cause)
    : kind_(kind), message_(std::move(message)), cause_(cause) {}

Failure Failure::with_code(Kind kind, std::string code, std::string message) {
    Failure failure(kind, std::move(message));
    failure.code_ = std::move(code);
    return failure;
}

Failure Failure::from_errno(std::string what, int error_number) {
    return Failure(Kind::io, std::move(what),
                   std::error_code(error_number, std::generic_category()));
}

Failure& Failure::context(std::string line) & {
    context_.push_back(std::move(line));
    return *this;
}

Failure&& Failure::context(std::string line) && {
    context_.push_back(std::move(line));
    return std::move(*this);
}

std::string Failure::describe() const {
    std::string text;
    for (auto line = context_.rbegin(); line != context_.rend(); ++line) text += *line + ": ";
    text += message_;
    if (cause_) text += " (" + cause_.message() + ")";
    std::ranges::replace(text, '\n', ' ');
    return text;
}

}  // namespace protocol
