#include "protocol/base/name.hpp"

#include "protocol/base/utf8.hpp"

namespace protocol {
namespace {

constexpr std::size_t name_length_max = 63;

// Code points that steer a terminal or reorder a line although they are valid UTF-8: C1 controls,
// line and paragraph separators, bidirectional overrides and isolates.
bool steers_terminal(std::string_view sequence) {
    if (sequence.size() == 2) return sequence[0] == '\xC2' && sequence[1] < '\xA0';
    if (sequence.size() != 3 || sequence[0] != '\xE2') return false;
    if (sequence[1] == '\x80') return sequence[2] >= '\xA8' && sequence[2] <= '\xAE';
    return sequence[1] == '\x81' && sequence[2] >= '\xA6' && sequence[2] <= '\xA9';
}

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

void append_escaped(std::string_view bytes, std::string& out) {
    constexpr char digits[] = "0123456789ABCDEF";
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += "\\x";
        out += digits[byte >> 4];
        out += digits[byte & 0x0F];
    }
}

}  // namespace

bool is_valid_name(std::string_view text) {
    if (text.empty() || text.size() > name_length_max || text.front() == '-') return false;
    return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
           std::string_view::npos;
}

std::string escape_foreign(std::string_view bytes, std::size_t limit) {
    std::string out;
    while (!bytes.empty()) {
        const std::size_t length = utf8_sequence(bytes);
        const std::string_view piece = bytes.substr(0, length == 0 ? 1 : length);
        const std::size_t before = out.size();
        if (length == 0 || is_control(piece[0]) || steers_terminal(piece)) {
            append_escaped(piece, out);
        } else {
            out += piece;
        }
        if (out.size() > limit) {
            out.resize(before);
            return out + "...";
        }
        bytes.remove_prefix(piece.size());
    }
    return out;
}

}  // namespace protocol
