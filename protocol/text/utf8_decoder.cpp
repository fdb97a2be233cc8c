#include "protocol/text/utf8_decoder.hpp"

#include <array>

namespace protocol {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

constexpr std::array<Utf8Expected, 256> leads = [] {
    std::array<Utf8Expected, 256> table;
    for (unsigned byte = 0; byte < table.size(); ++byte) {
        table[byte] = utf8_lead(static_cast<unsigned char>(byte));
    }
    return table;
}();

}  // namespace

std::uint64_t Utf8Decoder::decode(std::string_view bytes, std::string& out) {
    std::uint64_t count = 0;
    while (!bytes.empty()) {
        if (pending_size_ == 0) {
            const std::size_t ascii = ascii_prefix(bytes);
            out.append(bytes.substr(0, ascii));
            count += ascii;
            bytes.remove_prefix(ascii);
            if (bytes.empty()) break;
        }
        const auto byte = static_cast<unsigned char>(bytes.front());
        if (expected_.takes(byte)) {
            expected_ = expected_.next();
        } else {
            // What is pending is a maximal ill-formed subpart; this byte may start something new.
            count += finish(out);
            if (byte < 0x80) continue;
            expected_ = leads[byte];
        }
        pending_[pending_size_++] = bytes.front();
        bytes.remove_prefix(1);
        if (expected_.following > 0) continue;
        // One byte alone is none that starts or continues anything.
        out.append(pending_size_ > 1 ? std::string_view(pending_, pending_size_) : replacement);
        pending_size_ = 0;
        ++count;
    }
    return count;
}

std::uint64_t Utf8Decoder::finish(std::string& out) {
    expected_ = {};
    if (pending_size_ == 0) return 0;
    pending_size_ = 0;
    out.append(replacement);
    return 1;
}

}  // namespace protocol
