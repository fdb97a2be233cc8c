#include "protocol/base/duration.hpp"

#include "protocol/base/name.hpp"

#include <cstdio>

namespace protocol {
namespace {

// Hours of up to six digits: more than a century, and far from overflowing milliseconds.
constexpr std::size_t hour_digits_max = 6;

bool all_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::int64_t number(std::string_view digits) {
    std::int64_t value = 0;
    for (const char c : digits) value = value * 10 + (c - '0');
    return value;
}

}  // namespace

Result<Milliseconds> parse_duration(std::string_view text) {
    const auto refuse = [&] {
        return fail(Kind::invalid_argument,
                    "\"" + escape_foreign(text, 40) +
                        "\" is not a duration; write \"hh:mm:ss\" with minutes and seconds from 00 "
                        "to 59 and more than zero in all, e.g. \"00:05:00\"");
    };
    constexpr std::size_t tail_length = 6;  // ":mm:ss"
    if (text.size() < tail_length + 2 || text.size() > tail_length + hour_digits_max)
        return refuse();
    const std::string_view hours = text.substr(0, text.size() - tail_length);
    const std::string_view tail = text.substr(hours.size());
    const std::string_view minutes = tail.substr(1, 2);
    const std::string_view seconds = tail.substr(4, 2);
    if (tail[0] != ':' || tail[3] != ':') return refuse();
    if (!all_digits(hours) || !all_digits(minutes) || !all_digits(seconds)) return refuse();
    if (number(minutes) > 59 || number(seconds) > 59) return refuse();
    const std::chrono::seconds total((number(hours) * 60 + number(minutes)) * 60 + number(seconds));
    if (total.count() == 0) return refuse();
    return Milliseconds(total);
}

std::string format_duration(Milliseconds duration) {
    const auto total = std::chrono::ceil<std::chrono::seconds>(duration).count();
    char text[40];
    std::snprintf(text, sizeof text, "%02lld:%02lld:%02lld", static_cast<long long>(total / 3600),
                  static_cast<long long>(total / 60 % 60), static_cast<long long>(total % 60));
    return text;
}

}  // namespace protocol
