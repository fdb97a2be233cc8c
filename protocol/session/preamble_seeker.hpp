#pragma once
// PreambleSeeker: finds the 16 bytes that begin a connection in whatever an earlier connection left
// in the byte stream. Pure; used by Session.

#include "protocol/base/result.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace protocol {

using Nonce = std::array<unsigned char, 8>;

std::string encode_preamble(const Nonce& nonce);

class PreambleSeeker {
  public:
    // Looks for the magic with this nonce; without one, for the magic with any.
    explicit PreambleSeeker(std::optional<Nonce> expected = std::nullopt);

    void feed(std::string_view bytes);
    // The nonce of a complete preamble; nothing while more bytes are needed. Bytes before it are
    // discarded, those after it are in take_rest().
    std::optional<Nonce> find();
    // False when what was fed cannot be the beginning of a preamble: for a place where nothing may
    // stand before it.
    bool starts_like_preamble() const;
    std::string take_rest();
    std::size_t held_bytes() const { return held_.size(); }

  private:
    std::string wanted_;
    std::string held_;
};

}  // namespace protocol
