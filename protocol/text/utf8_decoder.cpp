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

// Whatever a byte that continues nothing turns out to start, a character or an ill-formed subpart,
// it is one code point.
void Utf8Counter::count(std::string_view bytes) {
    constexpr std::size_t mixed_bytes = 64;  // before the next look for a run of ASCII
    std::uint64_t starts = starts_;
    Utf8Expected expected = expected_;
    while (!bytes.empty()) {
        if (expected.following == 0) {
            const std::size_t ascii = ascii_prefix(bytes);
            starts += ascii;
            bytes.remove_prefix(ascii);
        }
        const std::string_view mixed = bytes.substr(0, mixed_bytes);
        for (const char each : mixed) {
            const auto byte = static_cast<unsigned char>(each);
            if (expected.takes(byte)) {
                expected = expected.next();
            } else {
                ++starts;
                expected = leads[byte];
            }
        }
        bytes.remove_prefix(mixed.size());
    }
    starts_ = starts;
    expected_ = expected;
}

}  // namespace protocol
