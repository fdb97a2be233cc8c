#include "host/api/byte_range.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace host::api {

namespace {

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace

ByteRange parse_range(std::string_view text, std::uint64_t size) {
    ByteRange range;
    constexpr std::string_view unit = "bytes=";
    if (!text.starts_with(unit)) return range;
    text.remove_prefix(unit.size());
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) return range;
    const std::string_view from = text.substr(0, dash);
    const std::string_view to = text.substr(dash + 1);
    const auto first = number(from);
    const auto last = number(to);
    if ((!from.empty() && !first) || (!to.empty() && !last) || (from.empty() && to.empty()))
        return range;
    if (first && last && *last < *first) return range;

    const std::uint64_t begin = first ? *first : size - std::min(*last, size);
    if (begin >= size) {
        range.what = ByteRange::What::unsatisfiable;
        return range;
    }
    range.what = ByteRange::What::part;
    range.first = begin;
    range.length = first && last ? std::min(*last - begin, size - 1 - begin) + 1 : size - begin;
    return range;
}

}  // namespace host::api
