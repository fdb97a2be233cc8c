#pragma once
// Outputs are copied in pieces of this size. A C library copies longer ones with `rep movsb`, which
// an emulated processor runs byte by byte: measured 7 times slower per byte under QEMU's TCG, and
// no difference on a real processor.

#include <cstddef>

namespace protocol {

inline constexpr std::size_t copy_piece_bytes = 2048;

}  // namespace protocol
