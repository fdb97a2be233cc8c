// FrameDecoder: any bytes, in pieces whose sizes the input chooses. What comes out must encode to
// what went in, and nothing may be held beyond one frame and one piece.

#include "protocol/wire/frame.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace protocol;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::size_t piece = 1 + data[0];
    std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::string_view whole = bytes;
    std::string encoded;
    FrameDecoder decoder;
    while (!bytes.empty()) {
        decoder.feed(bytes.substr(0, piece));
        bytes.remove_prefix(std::min(piece, bytes.size()));
        while (true) {
            auto frame = decoder.next();
            if (!frame) {
                fuzz::require(!decoder.next(), "a failed decoder is dead");
                return 0;
            }
            if (!*frame) break;
            encode_frame(**frame, encoded);
        }
        fuzz::require(whole.starts_with(encoded), "frames encode to what was read");
        fuzz::require(decoder.held_bytes() <=
                          limits::header_bytes + limits::control_payload_bytes + 2 * piece,
                      "memory is bounded");
    }
    return 0;
}
