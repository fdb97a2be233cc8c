#include "protocol/text/byte_ring.hpp"

#include <numeric>
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

TEST(ByteRing, IsFilledInPlace) {
    ByteRing ring(8);
    ring.append("abcde");
    std::span<char> room = ring.prepare(100);
    ASSERT_EQ(room.size(), 3u);  // up to the wrap
    std::string_view("fg").copy(room.data(), 2);
    EXPECT_EQ(ring.end(), 5u);
    ring.commit(2);
    EXPECT_EQ(read(ring, 0, 100), "abcdefg");
    room = ring.prepare(100);
    ASSERT_EQ(room.size(), 1u);
    room[0] = 'h';
    ring.commit(1);
    room = ring.prepare(2);
    ASSERT_EQ(room.size(), 2u);  // over the oldest
    std::string_view("i").copy(room.data(), 1);
    ring.commit(1);
    EXPECT_EQ(ring.begin(), 1u);
    EXPECT_EQ(read(ring, 1, 100), "bcdefghi");
}

TEST(ByteRing, PreparedRoomThatIsNotUsedChangesNothing) {
    ByteRing ring(4);
    (void)ring.prepare(3);
    ring.commit(0);
    EXPECT_EQ(ring.end(), 0u);
    ring.append("abcdef");
    (void)ring.prepare(4);
    ring.commit(0);
    EXPECT_EQ(read(ring, 2, 100), "cdef");
}

TEST(ByteRing, TakesMemoryAsItIsFilled) {
    ByteRing ring(std::size_t{1} << 20);
    EXPECT_LE(ring.prepare(std::size_t{1} << 16).size(), 1024u);
    std::size_t most = 0;
    while (ring.end() < (std::uint64_t{1} << 20)) {
        const std::size_t room = ring.prepare(std::size_t{1} << 16).size();
        ASSERT_LE(room, std::max<std::uint64_t>(1024, ring.end()));
        most = std::max(most, room);
        ring.commit(room);
    }
    EXPECT_EQ(most, std::size_t{1} << 16);
}

TEST(ByteRing, EnlargedHoldsWhatItHeldAndMore) {
    std::string all;
    for (const std::size_t before :
         {std::size_t{0}, std::size_t{3}, std::size_t{5}, std::size_t{93}}) {
        ByteRing ring(5);
        all.resize(before);
        std::iota(all.begin(), all.end(), 'A');
        ring.append(all);
        const std::uint64_t first = ring.begin();
        ring.enlarge(12);
        ring.enlarge(5);  // holds more already
        EXPECT_EQ(ring.begin(), first) << "what was overwritten does not come back";
        EXPECT_EQ(ring.end(), before);
        for (char c = 'a'; c <= 'z'; ++c) {
            ring.append(std::string_view(&c, 1));
            all += c;
            ASSERT_EQ(ring.begin(),
                      std::max<std::uint64_t>(first, all.size() > 12 ? all.size() - 12 : 0));
            const auto from = static_cast<std::size_t>(ring.begin());
            ASSERT_EQ(read(ring, from, 100), all.substr(from));
        }
    }
}

TEST(ByteRing, AgreesWithAPlainString) {
    std::mt19937 random(3);
    for (const std::size_t capacity : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
        ByteRing ring(capacity);
        std::string all;
        for (int round = 0; round < 500; ++round) {
            std::string piece(random() % (2 * capacity + 2), '\0');
            for (char& c : piece) c = static_cast<char>(random() % 256);
            if (random() % 2 == 0) {
                ring.append(piece);
            } else {
                for (std::string_view rest = piece; !rest.empty();) {
                    const std::span<char> room = ring.prepare(random() % rest.size() + 1);
                    rest.copy(room.data(), room.size());
                    rest.remove_prefix(room.size());
                    ring.commit(room.size());
                }
            }
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
