#pragma once
// Described structs <-> JSON text. Boost.JSON's own conversion refuses unknown members and absent
// optionals, which would make every new field a breaking change; this is the tolerant one the wire
// needs and, with UnknownMembers::refuse, the strict one the HTTP API needs.
//
// Names: C++ snake_case members are written as they are on the wire. The API uses camelCase and has
// its own mapping: pass Naming::camel_case.

#include "protocol/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace protocol {

enum class UnknownMembers : std::uint8_t { ignore, refuse };
enum class Naming : std::uint8_t { as_written, camel_case };

// Strict JSON: UTF-8 checked, depth limited to limits::json_depth, duplicate members refused, no
// trailing bytes. invalid_argument with what is wrong and where.
Result<boost::json::value> parse_json(std::string_view text);

// T: described struct of std::string, integers (range-checked), bool, std::optional, std::vector,
// nested described structs, boost::json::value. Failures name the path ("$.environment[2].name").
template <typename T>
Result<T> from_json(const boost::json::value& value,
                    UnknownMembers unknown = UnknownMembers::ignore,
                    Naming naming = Naming::as_written);
// Text that is not valid UTF-8 (a file name inside a message) is escaped, so that what is sent
// always can be read.
template <typename T>
boost::json::value to_json(const T& message, Naming naming = Naming::as_written);

// {"operation": name, ...members of T}
template <typename T>
std::string encode_request(std::string_view operation, const T& request);
// {"event": name, ...}
template <typename T>
std::string encode_event(std::string_view event, const T& payload);
// {"ok": {...}}
template <typename T>
std::string encode_end(const T& answer);
std::string encode_end_failure(const Failure& failure);

// The other side of encode_end and encode_end_failure: the answer, or the peer's failure with its
// own kind (`internal` when this version does not know that kind), or protocol_violation.
template <typename T>
Result<T> decode_end(std::string_view payload);

// The other side of encode_request and encode_event: `key` is "operation" or "event"; `body` is the
// whole object, for from_json. protocol_violation when it is no object or has no such string.
struct NamedMessage {
    NamedMessage() = default;
    std::string name;
    boost::json::value body;
};
Result<NamedMessage> decode_named(std::string_view payload, std::string_view key);

}  // namespace protocol

#include "protocol/wire/json_codec_impl.hpp"
