#include "host/sandbox/paging.hpp"

#include "host/sandbox/refusals.hpp"

#include <algorithm>
#include <charconv>

namespace host::sandbox {

namespace {
constexpr std::size_t longest_page = 1'000;
}

Result<std::optional<std::int64_t>> parse_cursor(const std::string& text) {
    if (text.empty()) return std::optional<std::int64_t>();
    std::int64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || number < 0) {
        return protocol::fail(invalid("\"after\" is not a cursor of an earlier answer"));
    }
    return std::optional<std::int64_t>(number);
}

std::size_t page_limit(const Page& page) {
    return std::clamp<std::size_t>(page.limit, 1, longest_page);
}

}  // namespace host::sandbox
