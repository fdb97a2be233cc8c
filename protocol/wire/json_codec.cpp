#include "protocol/wire/json_codec.hpp"

#include "protocol/base/name.hpp"
#include "protocol/base/utf8.hpp"
#include "protocol/wire/limits.hpp"
#include "protocol/wire/messages.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/error.hpp>
#include <boost/json/value_stack.hpp>

namespace protocol {
namespace {

using boost::json::error_code;
using boost::json::string_view;

// Builds the value as boost::json::parser does, and remembers the member names of each open object:
// the library keeps the last of two equal members silently.
class Builder {
  public:
    static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t max_key_size = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();

    bool on_document_begin(error_code&) { return true; }
    bool on_document_end(error_code&) { return true; }
    bool on_array_begin(error_code&) { return true; }
    bool on_array_end(std::size_t count, error_code&) {
        stack_.push_array(count);
        return true;
    }
    bool on_object_begin(error_code&) {
        names_.emplace_back();
        return true;
    }
    bool on_object_end(std::size_t count, error_code&) {
        names_.pop_back();
        stack_.push_object(count);
        return true;
    }
    bool on_string_part(string_view part, std::size_t, error_code&) {
        stack_.push_chars(part);
        return true;
    }
    bool on_string(string_view rest, std::size_t, error_code&) {
        stack_.push_string(rest);
        return true;
    }
    bool on_key_part(string_view part, std::size_t, error_code&) {
        key_ += part;
        stack_.push_chars(part);
        return true;
    }
    bool on_key(string_view rest, std::size_t, error_code& error) {
        key_ += rest;
        if (!names_.back().insert(key_).second) {
            repeated_ = key_;
            error = boost::json::error::extra_data;  // stops the parser; `repeated_` says why
            return false;
        }
        key_.clear();
        stack_.push_key(rest);
        return true;
    }
    bool on_number_part(string_view, error_code&) { return true; }
    bool on_int64(std::int64_t number, string_view, error_code&) {
        stack_.push_int64(number);
        return true;
    }
    bool on_uint64(std::uint64_t number, string_view, error_code&) {
        stack_.push_uint64(number);
        return true;
    }
    bool on_double(double number, string_view, error_code&) {
        stack_.push_double(number);
        return true;
    }
    bool on_bool(bool value, error_code&) {
        stack_.push_bool(value);
        return true;
    }
    bool on_null(error_code&) {
        stack_.push_null();
        return true;
    }
    bool on_comment_part(string_view, error_code&) { return true; }
    bool on_comment(string_view, error_code&) { return true; }

    void begin() { stack_.reset(); }
    boost::json::value release() { return stack_.release(); }
    const std::optional<std::string>& repeated() const { return repeated_; }

  private:
    boost::json::value_stack stack_;
    std::vector<std::set<std::string, std::less<>>> names_;
    std::string key_;
    std::optional<std::string> repeated_;
};

}  // namespace

Result<boost::json::value> parse_json(std::string_view text) {
    boost::json::parse_options options;
    options.max_depth = limits::json_depth;
    boost::json::basic_parser<Builder> parser(options);
    parser.handler().begin();
    error_code error;
    const std::size_t read = parser.write_some(false, text.data(), text.size(), error);
    if (parser.handler().repeated()) {
        return fail(Kind::invalid_argument, "not valid JSON: member \"" +
                                                escape_foreign(*parser.handler().repeated(), 80) +
                                                "\" is repeated, at byte " + std::to_string(read));
    }
    if (!error && read < text.size()) error = boost::json::error::extra_data;
    if (error) {
        return fail(Kind::invalid_argument,
                    "not valid JSON: " + error.message() + ", at byte " + std::to_string(read));
    }
    return parser.handler().release();
}

std::string encode_end_failure(const Failure& failure) {
    RemoteFailure remote;
    remote.kind = to_string(failure.kind());
    remote.message = failure.describe();
    remote.error_number = failure.cause().value();
    boost::json::object object;
    object.emplace("failure", to_json(remote));
    return boost::json::serialize(object);
}

Result<NamedMessage> decode_named(std::string_view payload, std::string_view key) {
    auto body = parse_json(payload);
    if (!body) return fail(Kind::protocol_violation, body.error().message());
    const boost::json::object* object = body->if_object();
    const boost::json::value* name = object ? object->if_contains(key) : nullptr;
    if (name == nullptr || !name->is_string()) {
        return fail(Kind::protocol_violation, "a message without \"" + std::string(key) + "\"");
    }
    NamedMessage message;
    message.name = std::string_view(name->get_string());
    message.body = std::move(*body);
    return message;
}

namespace codec {

std::string wire_name(std::string_view member, Naming naming) {
    if (naming == Naming::as_written) return std::string(member);
    std::string name;
    bool raise = false;
    for (const char c : member) {
        if (c == '_') {
            raise = true;
            continue;
        }
        name += raise && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        raise = false;
    }
    return name;
}

boost::json::string json_text(std::string_view text) {
    if (is_valid_utf8(text)) return boost::json::string(text);
    return boost::json::string(escape_foreign(text, std::numeric_limits<std::size_t>::max()));
}

std::string_view kind_name(const boost::json::value& value) {
    switch (value.kind()) {
        case boost::json::kind::null:
            return "null";
        case boost::json::kind::bool_:
            return "a boolean";
        case boost::json::kind::int64:
        case boost::json::kind::uint64:
            return "an integer";
        case boost::json::kind::double_:
            return "a fraction";
        case boost::json::kind::string:
            return "a string";
        case boost::json::kind::array:
            return "an array";
        case boost::json::kind::object:
            return "an object";
    }
    return "nothing";
}

Result<boost::json::value> open_end(std::string_view payload) {
    auto value = parse_json(payload);
    if (!value) return fail(Kind::protocol_violation, value.error().message());
    boost::json::object* object = value->if_object();
    if (object != nullptr) {
        if (boost::json::value* answer = object->if_contains("ok")) return std::move(*answer);
        if (const boost::json::value* failure = object->if_contains("failure")) {
            TRY(RemoteFailure remote, from_json<RemoteFailure>(*failure));
            return fail(Failure(kind_from_string(remote.kind).value_or(Kind::internal),
                                std::move(remote.message)));
        }
    }
    return fail(Kind::protocol_violation, "an end with neither \"ok\" nor \"failure\"");
}

}  // namespace codec
}  // namespace protocol
