#include "protocol/text/utf8_decoder.hpp"

namespace protocol {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

std::uint64_t Utf8Decoder::decode(std::string_view bytes, std::string& out) {
    std::uint64_t count = 0;
    while (!bytes.empty()) {
        if (needed_ == 0) {
            // The longest well-formed run is copied in one piece.
            std::size_t run = 0;
            while (run < bytes.size()) {
                const std::size_t ascii = ascii_prefix(bytes.substr(run));
                run += ascii;
                count += ascii;
                const std::size_t sequence = utf8_sequence(bytes.substr(run));
                if (sequence == 0) break;
                run += sequence;
                ++count;
            }
            out.append(bytes.substr(0, run));
            bytes.remove_prefix(run);
            if (bytes.empty()) break;

            const Utf8Lead lead = utf8_lead(static_cast<unsigned char>(bytes.front()));
            if (lead.following == 0) {
                out.append(replacement);
                ++count;
            } else {
                pending_[0] = bytes.front();
                pending_size_ = 1;
                needed_ = lead.following;
                lower_ = lead.lower;
                upper_ = lead.upper;
            }
            bytes.remove_prefix(1);
            continue;
        }

        const auto byte = static_cast<unsigned char>(bytes.front());
        if (byte < lower_ || byte > upper_) {
            // What is pending is a maximal ill-formed subpart; this byte may start something new.
            count += finish(out);
            continue;
        }
        pending_[pending_size_++] = bytes.front();
        bytes.remove_prefix(1);
        lower_ = 0x80;
        upper_ = 0xBF;
        if (--needed_ == 0) {
            out.append(pending_, pending_size_);
            ++count;
        }
    }
    return count;
}

std::uint64_t Utf8Decoder::finish(std::string& out) {
    if (needed_ == 0) return 0;
    needed_ = 0;
    out.append(replacement);
    return 1;
}

}  // namespace protocol
