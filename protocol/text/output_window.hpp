#pragma once
// OutputWindow: the last 65,536 characters (Unicode code points) of an output, how many there were,
// and its latest raw bytes for live followers. Memory is bounded by the ring, whatever is appended.
// Bytes are only counted as they pass, and decoded when the text is asked for: a command may print
// a gigabyte. One owner, no threads.

#include "protocol/text/byte_ring.hpp"
#include "protocol/text/utf8_counter.hpp"
#include "protocol/wire/limits.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace protocol {

class OutputWindow {
  public:
    // No character is longer than 4 bytes, and no U+FFFD stands for more than 3. Besides, decoding
    // that starts anywhere is right after at most 3 bytes, and a character of at most 3 bytes may
    // be unfinished.
    static constexpr std::size_t smallest_ring_bytes = limits::output_window_bytes + 3 + 3;

    explicit OutputWindow(std::size_t ring_bytes = smallest_ring_bytes);

    void append(std::string_view bytes);
    // The same for bytes read in place, see ByteRing.
    std::span<char> prepare(std::size_t limit) { return raw_.prepare(limit); }
    void commit(std::size_t count);
    void enlarge(std::size_t ring_bytes) { raw_.enlarge(ring_bytes); }
    // End-of-file: a character left unfinished is counted as one U+FFFD. Idempotent.
    void finish();
    // What has been decoded so far; well-formed UTF-8, never a split character.
    std::string text() const;
    std::uint64_t characters() const { return counter_.characters(); }  // all that ever were
    std::uint64_t bytes() const { return raw_.end(); }                  // raw bytes appended
    const ByteRing& raw() const { return raw_; }

  private:
    ByteRing raw_;
    Utf8Counter counter_;
    bool finished_ = false;
};

}  // namespace protocol
