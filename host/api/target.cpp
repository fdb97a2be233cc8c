#include "host/api/target.hpp"

#include "protocol/base/name.hpp"
#include "protocol/base/utf8.hpp"

#include <algorithm>

namespace host::api {

using protocol::fail;
using protocol::Kind;
using protocol::Result;

namespace {

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

Result<void> parse_path(std::string_view path, std::vector<std::string>& segments) {
    path.remove_prefix(1);
    if (path.ends_with('/')) path.remove_suffix(1);
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        const auto segment = percent_decode(path.substr(0, slash));
        if (!segment)
            return fail(Kind::invalid_argument,
                        "a '%' in the path is not followed by two hexadecimal digits");
        if (segment->empty()) return fail(Kind::invalid_argument, "the path has an empty part");
        if (*segment == "." || *segment == "..") {
            return fail(Kind::invalid_argument, "the path has a part \"" + *segment + "\"");
        }
        if (segment->find('/') != std::string::npos || segment->find('\0') != std::string::npos) {
            return fail(Kind::invalid_argument,
                        "a part of the path contains a '/' or a NUL character");
        }
        segments.push_back(*segment);
        if (slash == std::string_view::npos) return {};
        path.remove_prefix(slash + 1);
        if (path.empty()) return fail(Kind::invalid_argument, "the path has an empty part");
    }
    return {};
}

Result<void> parse_query(std::string_view text, Target& target) {
    while (!text.empty()) {
        const std::size_t separator = text.find('&');
        const std::string_view pair = text.substr(0, separator);
        const std::size_t equals = pair.find('=');
        const auto name = percent_decode(pair.substr(0, equals));
        const auto value =
            percent_decode(equals == std::string_view::npos ? "" : pair.substr(equals + 1));
        if (!name || !value || name->empty() || !protocol::is_valid_utf8(*name) ||
            !protocol::is_valid_utf8(*value)) {
            return fail(Kind::invalid_argument, "the query is malformed");
        }
        if (target.parameter(*name)) {
            return fail(
                Kind::invalid_argument,
                "query parameter '" + protocol::escape_foreign(*name, 60) + "' is repeated");
        }
        target.query.emplace_back(*name, *value);
        if (separator == std::string_view::npos) return {};
        text.remove_prefix(separator + 1);
    }
    return {};
}

}  // namespace

const std::string* Target::parameter(std::string_view name) const {
    const auto found = std::ranges::find(
        query, name, [](const auto& pair) { return std::string_view(pair.first); });
    return found == query.end() ? nullptr : &found->second;
}

std::optional<std::string> percent_decode(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out.push_back(text[i]);
            continue;
        }
        if (i + 2 >= text.size()) return std::nullopt;
        const int high = hex_value(text[i + 1]);
        const int low = hex_value(text[i + 2]);
        if (high < 0 || low < 0) return std::nullopt;
        out.push_back(static_cast<char>(high * 16 + low));
        i += 2;
    }
    return out;
}

Result<Target> parse_target(std::string_view text) {
    const bool visible = std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7F'; });
    if (!text.starts_with('/') || !visible || text.find('#') != std::string_view::npos) {
        return fail(Kind::invalid_argument, "the request target is not a path");
    }
    Target target;
    const std::size_t mark = text.find('?');
    TRY_VOID(parse_path(text.substr(0, mark), target.segments));
    if (mark != std::string_view::npos) TRY_VOID(parse_query(text.substr(mark + 1), target));
    return target;
}

}  // namespace host::api
