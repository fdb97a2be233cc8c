#pragma once
// OutputWindow: the last 65,536 characters (Unicode code points) of an output, and how many there
// were. Memory is bounded by limits::output_window_bytes plus one read. ASCII runs must be fast: a
// command may print a gigabyte.

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/text/utf8_decoder.hpp"

namespace protocol {

class OutputWindow {
  public:
    void append(std::string_view bytes);
    // End-of-file: a character left unfinished is counted as one U+FFFD. Idempotent.
    void finish();
    // What has been decoded so far; well-formed UTF-8, never a split character.
    std::string text() const;
    std::uint64_t characters() const { return characters_; }  // all that ever were
    std::uint64_t bytes() const { return bytes_; }            // raw bytes appended

  private:
    Utf8Decoder decoder_;
    std::string kept_;  // may exceed the window by a bounded slack; text() cuts
    std::uint64_t kept_characters_ = 0;
    std::uint64_t characters_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace protocol
