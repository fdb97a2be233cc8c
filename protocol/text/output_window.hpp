#pragma once
// OutputWindow: the last 65,536 characters (Unicode code points) of an output, and how many there
// were. Memory is bounded whatever is appended: one and a half times limits::output_window_bytes,
// less after finish(). ASCII runs are fast: a command may print a gigabyte. One owner, no threads.

#include "protocol/text/utf8_decoder.hpp"

#include <cstdint>
#include <string>
#include <string_view>

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
    void count(std::uint64_t characters);
    void trim();
    std::size_t excess_bytes() const;

    Utf8Decoder decoder_;
    std::string kept_;  // may exceed the window by a bounded slack; text() cuts
    std::uint64_t kept_characters_ = 0;
    std::uint64_t characters_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace protocol
