#pragma once
// Template bodies of json_codec.hpp; included by it alone.

#include "protocol/base/name.hpp"

#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/describe.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/mp11/algorithm.hpp>

namespace protocol {
namespace codec {

// Read-only while decoding, except for the error: set once, its path is put together on the way
// out.
struct Reading {
    UnknownMembers unknown;
    Naming naming;
    std::string path;
    std::string wrong;

    bool refuse(std::string what) {
        wrong = std::move(what);
        return false;
    }
    bool inside(std::string step) {
        path.insert(0, step);
        return false;
    }
};

std::string wire_name(std::string_view member, Naming naming);
boost::json::string json_text(std::string_view text);
std::string_view kind_name(const boost::json::value& value);

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <typename T>
inline constexpr bool is_vector = false;
template <typename T>
inline constexpr bool is_vector<std::vector<T>> = true;

template <typename T>
concept Described = boost::describe::has_describe_members<T>::value && !std::is_union_v<T>;

template <Described T>
using Members = boost::describe::describe_members<T, boost::describe::mod_public>;

template <typename T>
bool read(const boost::json::value& value, T& out, Reading& reading);

template <std::integral T>
bool read_integer(const boost::json::value& value, T& out, Reading& reading) {
    if (!value.is_int64() && !value.is_uint64()) {
        return reading.refuse("expected an integer, found " + std::string(kind_name(value)));
    }
    const bool fits = value.is_int64() ? std::in_range<T>(value.get_int64())
                                       : std::in_range<T>(value.get_uint64());
    if (!fits) {
        return reading.refuse("expected an integer from " +
                              std::to_string(std::numeric_limits<T>::min()) + " to " +
                              std::to_string(std::numeric_limits<T>::max()));
    }
    out = value.is_int64() ? static_cast<T>(value.get_int64()) : static_cast<T>(value.get_uint64());
    return true;
}

template <typename T>
bool read_array(const boost::json::value& value, std::vector<T>& out, Reading& reading) {
    const boost::json::array* array = value.if_array();
    if (array == nullptr) {
        return reading.refuse("expected an array, found " + std::string(kind_name(value)));
    }
    out.clear();
    out.reserve(array->size());
    for (const boost::json::value& element : *array) {
        T item{};
        if (!read(element, item, reading)) {
            return reading.inside("[" + std::to_string(out.size()) + "]");
        }
        out.push_back(std::move(item));
    }
    return true;
}

template <Described T>
bool read_object(const boost::json::value& value, T& out, Reading& reading) {
    const boost::json::object* object = value.if_object();
    if (object == nullptr) {
        return reading.refuse("expected an object, found " + std::string(kind_name(value)));
    }
    bool good = true;
    std::size_t found = 0;
    boost::mp11::mp_for_each<Members<T>>([&](auto member) {
        if (!good) return;
        auto& field = out.*member.pointer;
        const std::string name = wire_name(member.name, reading.naming);
        if (const boost::json::value* present = object->if_contains(name)) {
            ++found;
            good = read(*present, field, reading);
        } else if (!is_optional<std::remove_reference_t<decltype(field)>>) {
            good = reading.refuse("missing");
        }
        if (!good) reading.inside("." + name);
    });
    if (!good) return false;
    if (reading.unknown == UnknownMembers::ignore || found == object->size()) return true;

    for (const auto& entry : *object) {
        bool known = false;
        boost::mp11::mp_for_each<Members<T>>([&](auto member) {
            known = known || entry.key() == wire_name(member.name, reading.naming);
        });
        if (!known) {
            reading.refuse("unknown member");
            return reading.inside("." + escape_foreign(entry.key(), 80));
        }
    }
    return true;
}

template <typename T>
bool read(const boost::json::value& value, T& out, Reading& reading) {
    if constexpr (std::is_same_v<T, boost::json::value>) {
        out = value;
        return true;
    } else if constexpr (is_optional<T>) {
        if (value.is_null()) {
            out.reset();
            return true;
        }
        return read(value, out.emplace(), reading);
    } else if constexpr (is_vector<T>) {
        return read_array(value, out, reading);
    } else if constexpr (std::is_same_v<T, bool>) {
        if (!value.is_bool()) {
            return reading.refuse("expected true or false, found " + std::string(kind_name(value)));
        }
        out = value.get_bool();
        return true;
    } else if constexpr (std::is_same_v<T, std::string>) {
        if (!value.is_string()) {
            return reading.refuse("expected a string, found " + std::string(kind_name(value)));
        }
        out = std::string_view(value.get_string());
        return true;
    } else if constexpr (std::integral<T>) {
        return read_integer(value, out, reading);
    } else {
        return read_object(value, out, reading);
    }
}

template <typename T>
boost::json::value write(const T& value, Naming naming) {
    if constexpr (std::is_same_v<T, boost::json::value>) {
        return value;
    } else if constexpr (is_vector<T>) {
        boost::json::array array;
        array.reserve(value.size());
        // Not by reference: std::vector<bool> has none.
        for (const typename T::value_type& item : value) array.push_back(write(item, naming));
        return array;
    } else if constexpr (std::is_same_v<T, std::string>) {
        return json_text(value);
    } else if constexpr (std::integral<T>) {
        return value;
    } else {
        boost::json::object object;
        boost::mp11::mp_for_each<Members<T>>([&](auto member) {
            const auto& field = value.*member.pointer;
            const std::string name = wire_name(member.name, naming);
            if constexpr (is_optional<std::remove_cvref_t<decltype(field)>>) {
                if (field) object.emplace(name, write(*field, naming));
            } else {
                object.emplace(name, write(field, naming));
            }
        });
        return object;
    }
}

// {"<key>": name, ...members}
template <typename T>
std::string encode_named(std::string_view key, std::string_view name, const T& message) {
    boost::json::object object;
    object.emplace(key, json_text(name));
    const boost::json::value members = write(message, Naming::as_written);
    for (const auto& entry : members.as_object()) object.emplace(entry.key(), entry.value());
    return boost::json::serialize(object);
}

// The value of "ok"; the failure a peer has sent; or what is wrong with the payload.
Result<boost::json::value> open_end(std::string_view payload);

}  // namespace codec

template <typename T>
Result<T> from_json(const boost::json::value& value, UnknownMembers unknown, Naming naming) {
    codec::Reading reading{unknown, naming, {}, {}};
    T out{};
    if (codec::read(value, out, reading)) return out;
    return fail(Kind::invalid_argument, "$" + reading.path + ": " + reading.wrong);
}

template <typename T>
boost::json::value to_json(const T& message, Naming naming) {
    return codec::write(message, naming);
}

template <typename T>
std::string encode_request(std::string_view operation, const T& request) {
    return codec::encode_named("operation", operation, request);
}

template <typename T>
std::string encode_event(std::string_view event, const T& payload) {
    return codec::encode_named("event", event, payload);
}

template <typename T>
std::string encode_end(const T& answer) {
    boost::json::object object;
    object.emplace("ok", codec::write(answer, Naming::as_written));
    return boost::json::serialize(object);
}

template <typename T>
Result<T> decode_end(std::string_view payload) {
    TRY(const boost::json::value answer, codec::open_end(payload));
    return from_json<T>(answer);
}

}  // namespace protocol
