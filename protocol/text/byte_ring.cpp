#include "protocol/text/byte_ring.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace protocol {
namespace {

constexpr std::size_t first_bytes = 1u << 10;

}  // namespace

// The byte at absolute offset o lies at storage_[o % capacity_], also while storage_ still grows.

ByteRing::ByteRing(std::size_t capacity) : capacity_(capacity) {
    assert(capacity > 0);
}

void ByteRing::append(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::span<char> room = prepare(bytes.size());
        bytes.copy(room.data(), room.size());
        bytes.remove_prefix(room.size());
        commit(room.size());
    }
}

std::span<char> ByteRing::prepare(std::size_t limit) {
    assert(limit > 0);
    const auto at = static_cast<std::size_t>(end_ % capacity_);
    if (at == storage_.size()) grow(limit);
    return {storage_.data() + at, std::min(limit, storage_.size() - at)};
}

void ByteRing::commit(std::size_t count) {
    end_ += count;
    assert(std::min<std::uint64_t>(end_, capacity_) <= storage_.size());
}

// Most outputs are short: memory comes as it is needed.
void ByteRing::grow(std::size_t limit) {
    const std::size_t size =
        std::min({capacity_, storage_.size() + limit, std::max(first_bytes, storage_.size() * 2)});
    // Doubling, but never beyond the capacity, which std::string alone would do.
    if (size > storage_.capacity()) {
        storage_.reserve(std::min(capacity_, std::max(size, storage_.capacity() * 2)));
    }
    storage_.resize(size);
}

void ByteRing::enlarge(std::size_t capacity) {
    if (capacity <= capacity_) return;
    if (end_ <= capacity_) {  // nothing has to move, and memory still comes as it is needed
        capacity_ = capacity;
        return;
    }
    const std::uint64_t first = begin();
    std::string storage(capacity, '\0');
    for (std::uint64_t offset = first; offset < end_;) {
        const auto at = static_cast<std::size_t>(offset % capacity);
        const std::string_view piece = view(offset, capacity - at);
        piece.copy(storage.data() + at, piece.size());
        offset += piece.size();
    }
    storage_ = std::move(storage);
    capacity_ = capacity;
    first_ = first;
}

std::uint64_t ByteRing::begin() const {
    return std::max(first_, end_ > capacity_ ? end_ - capacity_ : 0);
}

std::uint64_t ByteRing::end() const {
    return end_;
}

std::string_view ByteRing::view(std::uint64_t offset, std::size_t limit) const {
    assert(begin() <= offset && offset <= end_);
    const auto at = static_cast<std::size_t>(offset % capacity_);
    const auto left = static_cast<std::size_t>(end_ - offset);
    return {storage_.data() + at, std::min({limit, left, capacity_ - at})};
}

}  // namespace protocol
