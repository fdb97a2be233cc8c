#include "protocol/text/utf8_counter.hpp"

#include "protocol/base/utf8.hpp"

#include <bit>
#include <cstring>

// Whatever a byte that continues nothing turns out to start, a character or an ill-formed subpart,
// it is one code point. So code points are bytes less those that continue a sequence; and whether a
// byte does is said by itself and at most three bytes before it (Unicode 15, table 3-7), because no
// byte can both start and continue. Hence no state is needed but the latest bytes.
//
// A word holds eight bytes, the earliest lowest. A mask says something of each in the top bit of
// its byte; its other bits say nothing unless they were cleared with `top`.

namespace protocol {
namespace {

static_assert(std::endian::native == std::endian::little);

using Word = std::uint64_t;

constexpr Word each(Word byte) {
    return byte * 0x0101010101010101u;
}
constexpr Word top = each(0x80);
constexpr Word low_halves = 0x00FF00FF00FF00FF;

// Of each byte what `word` has of the byte before it, the first one's being in `earlier`.
constexpr Word before(Word word, Word earlier) {
    return word << 8 | earlier >> 56;
}

// `bytes` begin with eight.
Word load(std::string_view bytes) {
    Word word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    return word;
}

constexpr Word equals(Word word, Word byte) {
    const Word differing = word ^ each(byte);
    return ~(((differing & ~top) + ~top) | differing) & top;
}

// Continuation bytes that the lead before them does not take, though others do: overlong forms,
// surrogates and what is above U+10FFFF.
constexpr Word refused(Word leads, Word word) {
    const Word from_a0 = word << 2;
    const Word from_90 = word << 2 | word << 3;
    return (equals(leads, 0xE0) & ~from_a0) | (equals(leads, 0xED) & from_a0) |
           (equals(leads, 0xF0) & ~from_90) | (equals(leads, 0xF4) & from_90);
}

// Goes from word to word.
class Continuations {
  public:
    // The continuation bytes among the eight; of the first three only as far as the words before
    // were seen. Inline, that the members are registers: to an emulated processor each access to
    // memory is ten instructions.
    [[gnu::always_inline]] Word next(Word word) {
        const Word continuation = word & ~(word << 1) & top;  // 80..BF
        const Word low = word & ~top;
        const Word lead = ((low + each(0x80 - 0x42)) ^ (low + each(0x80 - 0x75))) & word;  // C2..F4

        const Word byte_before = before(word, word_);
        Word second = before(lead, lead_) & continuation;
        Word second_of_more = second & byte_before << 2;  // E0..F4: of three or four
        // E0, ED, F0 and F4, by the bits that only they have: rare enough for a branch.
        const Word ordinary = byte_before << 6 | (byte_before << 7 ^ byte_before << 4) |
                              ((byte_before << 7 ^ byte_before << 5) & ~(byte_before << 3));
        if ((second_of_more & ~ordinary) != 0) [[unlikely]] {
            const Word taken = ~refused(byte_before, word);
            second &= taken;
            second_of_more &= taken;
        }
        const Word second_of_four = second_of_more & byte_before << 3;  // F0..F4
        const Word third = before(second_of_more, second_of_more_) & continuation;
        const Word third_of_four = before(second_of_four, second_of_four_) & continuation;
        const Word fourth = before(third_of_four, third_of_four_) & continuation;

        word_ = word;
        lead_ = lead;
        second_of_more_ = second_of_more;
        second_of_four_ = second_of_four;
        third_of_four_ = third_of_four;
        return second | third | fourth;
    }
    // Whether the sequence that the last byte belongs to goes on.
    bool unfinished() const { return ((lead_ | second_of_more_ | third_of_four_) >> 63) != 0; }

  private:
    Word word_ = 0, lead_ = 0, second_of_more_ = 0, second_of_four_ = 0, third_of_four_ = 0;
};

// How many bytes of whole words continue a sequence, after the eight `latest`. At most 255 words:
// the bytes of a word of sums hold no more.
Word continuing(Word latest, std::string_view words) {
    Continuations continuations;
    continuations.next(latest);
    Word sums = 0;  // of each eighth byte
    for (; !words.empty(); words.remove_prefix(sizeof(Word))) {
        sums += continuations.next(load(words)) >> 7;
    }
    const Word pairs = (sums & low_halves) + (sums >> 8 & low_halves);
    return pairs * (low_halves / 0xFF) >> 48;
}

}  // namespace

void Utf8Counter::count(std::string_view bytes) {
    constexpr std::size_t mixed_bytes = 1024;  // before the next look for a run of ASCII
    static_assert(mixed_bytes / sizeof(Word) <= 255);
    starts_ += bytes.size();
    while (!bytes.empty()) {
        if (const std::size_t ascii = ascii_prefix(bytes); ascii > 0) {
            latest_ = 0;
            bytes.remove_prefix(ascii);
        }
        const std::string_view mixed = bytes.substr(0, mixed_bytes);
        bytes.remove_prefix(mixed.size());
        const std::size_t rest = mixed.size() % sizeof(Word);
        if (const std::string_view words = mixed.substr(0, mixed.size() - rest); !words.empty()) {
            starts_ -= continuing(latest_, words);
            latest_ = load(words.substr(words.size() - sizeof(Word)));
        }
        if (rest > 0) {
            char padded[sizeof(Word)] = {};  // NUL continues nothing
            mixed.copy(padded, rest, mixed.size() - rest);
            starts_ -= continuing(latest_, {padded, sizeof padded});
            latest_ = latest_ >> 8 * rest | load({padded, sizeof padded})
                                                << 8 * (sizeof(Word) - rest);
        }
    }
}

std::uint64_t Utf8Counter::characters() const {
    Continuations continuations;
    continuations.next(latest_);
    return starts_ - (continuations.unfinished() ? 1 : 0);
}

}  // namespace protocol
