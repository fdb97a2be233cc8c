#pragma once
// Values that are stored as JSON text or by name. Private to host/journal. A text in the database
// that cannot be read back is `internal`: only this code writes it.

#include "host/model/definition.hpp"
#include "protocol/base/result.hpp"
#include "protocol/wire/json_codec.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/serialize.hpp>

namespace host::journal {

inline protocol::Failure unreadable(std::string_view what, std::string_view text) {
    return protocol::Failure(protocol::Kind::internal, "the database holds an unreadable " +
                                                           std::string(what) + ": " +
                                                           std::string(text.substr(0, 80)));
}

template <typename T>
std::string to_text(const T& value) {
    return boost::json::serialize(protocol::to_json(value));
}

template <typename T>
protocol::Result<T> from_text(std::string_view text, std::string_view what) {
    TRY(const boost::json::value value, protocol::parse_json(text));
    auto decoded = protocol::from_json<T>(value);
    if (!decoded) return protocol::fail(std::move(decoded).error().context(std::string(what)));
    return decoded;
}

}  // namespace host::journal
