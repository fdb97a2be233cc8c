#pragma once
// ByteRing: the last raw bytes of an output, addressed by absolute offset from the output's start.
// Live followers read from any offset that is still there.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace protocol {

class ByteRing {
  public:
    explicit ByteRing(std::size_t capacity);
    void append(std::string_view bytes);
    // Where the next bytes belong: room for 1 to `limit` (at least 1) of them, to be filled from
    // its start and made part of the ring with commit(). What is not filled must not be changed: it
    // may hold the oldest bytes. Until the next call that is not const.
    std::span<char> prepare(std::size_t limit);
    void commit(std::size_t count);
    // From now on holds at least this many bytes.
    void enlarge(std::size_t capacity);
    std::uint64_t begin() const;  // first offset still held
    std::uint64_t end() const;    // offset of the next byte to be appended
    // 1 to `limit` bytes from `offset` (begin() <= offset <= end()), none at the end: as many as
    // lie together. Until the next call that is not const.
    std::string_view view(std::uint64_t offset, std::size_t limit) const;

  private:
    void grow(std::size_t limit);

    std::string storage_;  // grows up to capacity_, then wraps
    std::size_t capacity_;
    std::uint64_t first_ = 0;  // what came before it was overwritten before enlarge()
    std::uint64_t end_ = 0;
};

}  // namespace protocol
