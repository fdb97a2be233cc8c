#include "protocol/text/byte_ring.hpp"

#include <random>

#include <gtest/gtest.h>

namespace protocol {
namespace {

std::string read(const ByteRing& ring, std::uint64_t offset, std::size_t limit) {
    std::string out;
    while (out.size() < limit && offset < ring.end()) {
        const std::string_view view = ring.view(offset, limit - out.size());
        if (view.empty()) break;
        out += view;
        offset += view.size();
    }
    return out;
}

TEST(ByteRing, HoldsEverythingUntilItIsFull) {
    ByteRing ring(8);
    ring.append("abc");
    ring.append("de");
    EXPECT_EQ(ring.begin(), 0u);
    EXPECT_EQ(ring.end(), 5u);
    EXPECT_EQ(read(ring, 0, 100), "abcde");
    EXPECT_EQ(read(ring, 2, 2), "cd");
    EXPECT_EQ(read(ring, 5, 10), "");
}

TEST(ByteRing, DropsTheOldestBytes) {
    ByteRing ring(4);
    ring.append("abc");
    ring.append("def");
    EXPECT_EQ(ring.begin(), 2u);
    EXPECT_EQ(read(ring, 2, 100), "cdef");
    EXPECT_EQ(read(ring, 4, 1), "e");
}

TEST(ByteRing, TakesMoreThanItHolds) {
    ByteRing ring(4);
    ring.append("x");
    ring.append("0123456789");
    EXPECT_EQ(ring.begin(), 7u);
    EXPECT_EQ(ring.end(), 11u);
    EXPECT_EQ(read(ring, 7, 4), "6789");
}

TEST(ByteRing, ShowsWhatLiesTogether) {
    ByteRing ring(4);
    ring.append("abcdef");
    EXPECT_EQ(ring.view(2, 1), "c");
    EXPECT_EQ(ring.view(2, 4), "cd");
    EXPECT_EQ(ring.view(4, 4), "ef");
    EXPECT_EQ(ring.view(6, 4), "");
}

TEST(ByteRing, AgreesWithAPlainString) {
    std::mt19937 random(3);
    for (const std::size_t capacity : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
        ByteRing ring(capacity);
        std::string all;
        for (int round = 0; round < 500; ++round) {
            std::string piece(random() % (2 * capacity + 2), '\0');
            for (char& c : piece) c = static_cast<char>(random() % 256);
            ring.append(piece);
            all += piece;
            ASSERT_EQ(ring.end(), all.size());
            ASSERT_EQ(ring.begin(), all.size() > capacity ? all.size() - capacity : 0);
            const auto held = static_cast<std::size_t>(ring.end() - ring.begin());
            const std::size_t skip = held == 0 ? 0 : random() % (held + 1);
            const auto from = static_cast<std::size_t>(ring.begin()) + skip;
            const std::size_t limit = random() % (capacity + 1);
            ASSERT_EQ(read(ring, from, limit), all.substr(from, limit));
        }
    }
}

}  // namespace
}  // namespace protocol
