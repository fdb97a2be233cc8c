#include "protocol/text/byte_ring.hpp"

#include <algorithm>
#include <cassert>

namespace protocol {

// The byte at absolute offset o lies at storage_[o % capacity_], also while storage_ still grows.

ByteRing::ByteRing(std::size_t capacity) : capacity_(capacity) {
    assert(capacity > 0);
}

void ByteRing::append(std::string_view bytes) {
    if (bytes.size() > capacity_) {
        end_ += bytes.size() - capacity_;
        bytes.remove_prefix(bytes.size() - capacity_);
        storage_.resize(capacity_);
    }
    if (storage_.size() < capacity_) {
        const std::size_t size = std::min(capacity_, storage_.size() + bytes.size());
        // Doubling, but never beyond the capacity, which std::string alone would do.
        if (size > storage_.capacity()) {
            storage_.reserve(std::min(capacity_, std::max(size, storage_.capacity() * 2)));
        }
        storage_.resize(size);
    }
    while (!bytes.empty()) {
        const auto at = static_cast<std::size_t>(end_ % capacity_);
        const std::size_t count = std::min(bytes.size(), capacity_ - at);
        bytes.copy(storage_.data() + at, count);
        bytes.remove_prefix(count);
        end_ += count;
    }
}

std::uint64_t ByteRing::begin() const {
    return end_ > capacity_ ? end_ - capacity_ : 0;
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
