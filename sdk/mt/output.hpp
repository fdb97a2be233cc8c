#pragma once
// What mt writes: tables for people, JSON for programs, and the guard against foreign bytes that
// would act on a terminal. No state.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

namespace mt {

// Everything or false (the reader is gone); waits while a non-blocking descriptor is full.
bool write_all(int fd, std::string_view bytes);
bool is_terminal(int fd);

// Text from outside as a terminal may see it: lines and tabs stay, other control characters and
// bytes that are not UTF-8 become \xNN. Unchanged when `for_terminal` is false.
std::string presentable(std::string_view text, bool for_terminal);

// Indented, members in the order they came, with a final newline.
std::string pretty_json(const boost::json::value& value);

// "17 B", "1.5 KiB".
std::string format_size(std::uint64_t bytes);

class Table {
  public:
    explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    // Columns as wide as their widest cell, two spaces apart, nothing after the last; a cell is one
    // line whatever it holds.
    std::string render(bool for_terminal) const;

  private:
    std::vector<std::string> header_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace mt
