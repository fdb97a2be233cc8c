#include "protocol/text/output_window.hpp"

#include "protocol/text/utf8_decoder.hpp"

#include <algorithm>
#include <cassert>

namespace protocol {
namespace {

constexpr std::uint64_t window = limits::output_window_characters;

// Drops the first `count` characters of well-formed text.
std::string_view without(std::string_view text, std::uint64_t count) {
    while (count > 0) {
        const std::size_t ascii = std::min<std::size_t>(ascii_prefix(text), count);
        text.remove_prefix(ascii);
        count -= ascii;
        if (count == 0) break;
        text.remove_prefix(utf8_sequence(text));
        --count;
    }
    return text;
}

}  // namespace

OutputWindow::OutputWindow(std::size_t ring_bytes) : raw_(ring_bytes) {
    assert(ring_bytes >= smallest_ring_bytes);
}

void OutputWindow::append(std::string_view bytes) {
    counter_.count(bytes);
    raw_.append(bytes);
}

void OutputWindow::commit(std::size_t count) {
    raw_.commit(count);
    counter_.count(raw_.view(raw_.end() - count, count));
}

void OutputWindow::finish() {
    counter_.finish();
    finished_ = true;
}

std::string OutputWindow::text() const {
    const std::uint64_t size = std::min<std::uint64_t>(raw_.end(), smallest_ring_bytes);
    std::string text;
    text.reserve(static_cast<std::size_t>(size));
    Utf8Decoder decoder;
    std::uint64_t characters = 0;
    for (std::uint64_t at = raw_.end() - size; at < raw_.end();) {
        const std::string_view piece = raw_.view(at, smallest_ring_bytes);
        characters += decoder.decode(piece, text);
        at += piece.size();
    }
    if (finished_) characters += decoder.finish(text);
    if (characters <= window) return text;
    return std::string(without(text, characters - window));
}

}  // namespace protocol
