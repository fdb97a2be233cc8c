#include "protocol/text/output_window.hpp"

#include "protocol/text/copy_piece.hpp"
#include "protocol/wire/limits.hpp"

#include <algorithm>

namespace protocol {
namespace {

constexpr std::uint64_t window = limits::output_window_characters;
// Trimming moves the whole window, so it waits until there is much to drop.
constexpr std::uint64_t trim_characters = window + window / 2;
constexpr std::size_t trim_bytes = limits::output_window_bytes;

// Bytes taken by the first `count` characters of well-formed text that has `characters` in all.
std::size_t prefix_bytes(std::string_view text, std::uint64_t count, std::uint64_t characters) {
    if (text.size() == characters) return static_cast<std::size_t>(count);  // all ASCII
    std::size_t at = 0;
    while (count > 0) {
        const std::size_t ascii = std::min<std::size_t>(ascii_prefix(text.substr(at)), count);
        at += ascii;
        count -= ascii;
        if (count > 0) {
            at += std::size_t{1} + utf8_lead(static_cast<unsigned char>(text[at])).following;
            --count;
        }
    }
    return at;
}

}  // namespace

void OutputWindow::append(std::string_view bytes) {
    bytes_ += bytes.size();
    while (!bytes.empty()) {
        const std::string_view piece = bytes.substr(0, copy_piece_bytes);
        count(decoder_.decode(piece, kept_));
        bytes.remove_prefix(piece.size());
        if (kept_characters_ > trim_characters && kept_.size() > trim_bytes) trim();
    }
}

void OutputWindow::finish() {
    count(decoder_.finish(kept_));
    trim();
    kept_.shrink_to_fit();
}

std::string OutputWindow::text() const {
    return kept_.substr(excess_bytes());
}

void OutputWindow::count(std::uint64_t characters) {
    characters_ += characters;
    kept_characters_ += characters;
}

void OutputWindow::trim() {
    if (kept_characters_ <= window) return;
    kept_.erase(0, excess_bytes());
    kept_characters_ = window;
}

std::size_t OutputWindow::excess_bytes() const {
    if (kept_characters_ <= window) return 0;
    return prefix_bytes(kept_, kept_characters_ - window, kept_characters_);
}

}  // namespace protocol
