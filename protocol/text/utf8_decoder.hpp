#pragma once
// Incremental decoding of foreign bytes as UTF-8 with replacement: one U+FFFD per
// maximal ill-formed subpart (Unicode 15, section 3.9, "U+FFFD Substitution of Maximal Subparts";
// the WHATWG decoder). Pure; every byte is looked at once, whatever the size of the pieces it
// arrives in.

#include "protocol/base/utf8.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace protocol {

class Utf8Decoder {
  public:
    // Appends well-formed UTF-8 to `out` and returns how many code points were appended.
    std::uint64_t decode(std::string_view bytes, std::string& out);
    // End of input: an unfinished sequence becomes one U+FFFD. Returns 0 or 1.
    std::uint64_t finish(std::string& out);

  private:
    char pending_[4] = {};  // a sequence begun
    std::uint8_t pending_size_ = 0;
    Utf8Expected expected_;
};

}  // namespace protocol
