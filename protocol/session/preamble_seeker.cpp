#include "protocol/session/preamble_seeker.hpp"

#include "protocol/wire/frame.hpp"

#include <algorithm>
#include <utility>

namespace protocol {

std::string encode_preamble(const Nonce& nonce) {
    std::string text(preamble_magic.begin(), preamble_magic.end());
    text.append(nonce.begin(), nonce.end());
    return text;
}

PreambleSeeker::PreambleSeeker(std::optional<Nonce> expected)
    : wanted_(expected ? encode_preamble(*expected)
                       : std::string(preamble_magic.begin(), preamble_magic.end())) {}

void PreambleSeeker::feed(std::string_view bytes) {
    held_ += bytes;
}

std::optional<Nonce> PreambleSeeker::find() {
    const std::size_t at = held_.find(wanted_);
    if (at == std::string::npos) {
        // Only a beginning of what is wanted can still matter.
        const std::size_t keep = std::min(held_.size(), wanted_.size() - 1);
        held_.erase(0, held_.size() - keep);
        return std::nullopt;
    }
    held_.erase(0, at);
    if (held_.size() < preamble_bytes) return std::nullopt;
    Nonce nonce;
    std::copy_n(held_.begin() + preamble_magic.size(), nonce.size(), nonce.begin());
    held_.erase(0, preamble_bytes);
    return nonce;
}

bool PreambleSeeker::starts_like_preamble() const {
    return std::string_view(held_).substr(0, wanted_.size()) ==
           std::string_view(wanted_).substr(0, held_.size());
}

std::string PreambleSeeker::take_rest() {
    return std::exchange(held_, {});
}

}  // namespace protocol
