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

// The same as a state machine without branches, for counting: on arbitrary bytes every branch would
// be a guess.
constexpr std::array<Utf8Expected, 8> states{Utf8Expected{},  utf8_lead(0xC2), utf8_lead(0xE0),
                                             utf8_lead(0xE1), utf8_lead(0xED), utf8_lead(0xF0),
                                             utf8_lead(0xF1), utf8_lead(0xF4)};

constexpr std::uint8_t state_of(const Utf8Expected& expected) {
    std::uint8_t state = 0;
    while (states[state] != expected) ++state;
    return state;
}

// After a byte: the next state, and whether the byte continued nothing.
struct Step {
    std::uint8_t state, starts;
};

constexpr auto steps = [] {
    std::array<std::array<Step, 256>, states.size()> table{};
    for (std::size_t state = 0; state < states.size(); ++state) {
        for (unsigned byte = 0; byte < 256; ++byte) {
            const auto each = static_cast<unsigned char>(byte);
            const bool continues = states[state].takes(each);
            table[state][byte] = {state_of(continues ? states[state].next() : utf8_lead(each)),
                                  static_cast<std::uint8_t>(continues ? 0 : 1)};
        }
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
    std::size_t state = state_;
    while (!bytes.empty()) {
        if (state == 0) {
            const std::size_t ascii = ascii_prefix(bytes);
            starts += ascii;
            bytes.remove_prefix(ascii);
        }
        const std::string_view mixed = bytes.substr(0, mixed_bytes);
        for (const char each : mixed) {
            const Step step = steps[state][static_cast<unsigned char>(each)];
            state = step.state;
            starts += step.starts;
        }
        bytes.remove_prefix(mixed.size());
    }
    starts_ = starts;
    state_ = static_cast<std::uint8_t>(state);
}

}  // namespace protocol
