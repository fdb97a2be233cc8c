#pragma once
// How many code points Utf8Decoder would make of the same bytes, at a small part of its cost: eight
// bytes at a time and without a branch for each of them, as arbitrary bytes make every branch a
// guess. Pure.

#include <cstdint>
#include <string_view>

namespace protocol {

class Utf8Counter {
  public:
    void count(std::string_view bytes);
    // End of input: an unfinished sequence counts as one. Idempotent.
    void finish() { latest_ = 0; }
    std::uint64_t characters() const;

  private:
    std::uint64_t starts_ = 0;  // bytes that did not continue what was before them
    std::uint64_t latest_ = 0;  // the last eight bytes, or NUL where what was there has no bearing
};

}  // namespace protocol
