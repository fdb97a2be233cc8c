#include "sdk/mt/output.hpp"

#include "protocol/base/name.hpp"
#include "protocol/base/utf8.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <poll.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>

namespace mt {
namespace {

constexpr std::size_t no_limit = static_cast<std::size_t>(-1);

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

void append_json(std::string& out, const boost::json::value& value, std::size_t depth) {
    const auto new_line = [&](std::size_t level) { out.append("\n").append(2 * level, ' '); };
    if (const auto* object = value.if_object(); object != nullptr && !object->empty()) {
        out.push_back('{');
        bool first = true;
        for (const auto& [name, member] : *object) {
            if (!std::exchange(first, false)) out.push_back(',');
            new_line(depth + 1);
            out.append(boost::json::serialize(name)).append(": ");
            append_json(out, member, depth + 1);
        }
        new_line(depth);
        out.push_back('}');
    } else if (const auto* array = value.if_array(); array != nullptr && !array->empty()) {
        out.push_back('[');
        bool first = true;
        for (const auto& item : *array) {
            if (!std::exchange(first, false)) out.push_back(',');
            new_line(depth + 1);
            append_json(out, item, depth + 1);
        }
        new_line(depth);
        out.push_back(']');
    } else {
        out.append(boost::json::serialize(value));
    }
}

}  // namespace

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(fd, bytes.data(), bytes.size());
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            pollfd waiting{fd, POLLOUT, 0};
            ::poll(&waiting, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

bool is_terminal(int fd) {
    return ::isatty(fd) == 1;
}

std::string presentable(std::string_view text, bool for_terminal) {
    if (!for_terminal) return std::string(text);
    std::string out;
    while (!text.empty()) {
        const auto stop = std::min(text.find_first_of("\n\t"), text.size());
        out.append(protocol::escape_foreign(text.substr(0, stop), no_limit));
        if (stop < text.size()) out.push_back(text[stop]);
        text.remove_prefix(std::min(stop + 1, text.size()));
    }
    return out;
}

std::string pretty_json(const boost::json::value& value) {
    std::string out;
    append_json(out, value, 0);
    out.push_back('\n');
    return out;
}

std::string format_size(std::uint64_t bytes) {
    static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) return std::to_string(bytes) + " B";
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < std::size(units)) {
        value /= 1024;
        ++unit;
    }
    char text[32];
    std::snprintf(text, sizeof text, "%.1f %s", value, units[unit]);
    return text;
}

std::string Table::render(bool for_terminal) const {
    std::vector<std::vector<std::string>> lines;
    lines.push_back(header_);
    for (const auto& row : rows_) {
        std::vector<std::string> cells;
        for (const std::string& cell : row) {
            // Also when piped, a table has one row a line.
            const bool plain = !for_terminal && cell.find_first_of("\r\n\t") == std::string::npos;
            cells.push_back(plain ? cell : protocol::escape_foreign(cell, no_limit));
        }
        lines.push_back(std::move(cells));
    }
    std::vector<std::size_t> widths(header_.size(), 0);
    for (const auto& line : lines) {
        for (std::size_t column = 0; column < line.size(); ++column) {
            widths[column] = std::max(widths[column], width_of(line[column]));
        }
    }
    std::string out;
    for (const auto& line : lines) {
        std::size_t blanks = 0;
        for (std::size_t column = 0; column < line.size(); ++column) {
            if (!line[column].empty()) {
                out.append(blanks, ' ').append(line[column]);
                blanks = 0;
            }
            blanks += widths[column] - (line[column].empty() ? 0 : width_of(line[column])) + 2;
        }
        out.erase(out.find_last_not_of(' ') + 1);  // of cells that are empty at a line's end
        out.push_back('\n');
    }
    return out;
}

}  // namespace mt
