#include "protocol/channel/page_carrier.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace protocol {
namespace {

using Sent = PageCarrier::Sent;

// What the fake port does with the pages it is offered: takes `port_takes` bytes altogether, then
// nothing more, or throws away what it has no room for.
std::string port;
std::size_t port_takes = 0;
bool port_drops = false;

ssize_t fake_splice(int from, int, std::size_t bytes) {
    std::string piece(std::min(bytes, port_takes), '\0');
    if (!piece.empty()) {
        const ssize_t count = ::read(from, piece.data(), piece.size());
        if (count <= 0) return -1;
        port.append(piece, 0, static_cast<std::size_t>(count));
        port_takes -= static_cast<std::size_t>(count);
        return count;
    }
    if (port_drops) {
        std::string dropped(bytes, '\0');
        EXPECT_EQ(::read(from, dropped.data(), bytes), static_cast<ssize_t>(bytes));
        return 0;
    }
    errno = EAGAIN;
    return -1;
}

class PageCarrierTest : public testing::Test {
  protected:
    PageCarrierTest() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
        output_ = UniqueFd(ends[0]);
        program_ = UniqueFd(ends[1]);
        port.clear();
        port_takes = 1u << 20;
        port_drops = false;
    }

    void print(std::string_view bytes) {
        ASSERT_EQ(::write(program_.get(), bytes.data(), bytes.size()),
                  static_cast<ssize_t>(bytes.size()));
    }
    std::string read_output(std::size_t bytes) {
        std::string read(bytes, '\0');
        const ssize_t count = ::read(output_.get(), read.data(), bytes);
        read.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
        return read;
    }

    UniqueFd output_, program_;
    PageCarrier carrier_ = PageCarrier::make(fake_splice).value();
    std::string rest_;
};

TEST_F(PageCarrierTest, SendsHeadersAndBytesAndLeavesThemInThePipe) {
    print("one two ");
    ASSERT_TRUE(carrier_.load("<3>", output_.get(), 3));
    EXPECT_EQ(read_output(3), "one");
    ASSERT_TRUE(carrier_.load("<4>", output_.get(), 4));
    EXPECT_EQ(read_output(4), " two");
    EXPECT_EQ(carrier_.send(-1, rest_), Sent::all);
    EXPECT_EQ(port, "<3>one<4> two");
    EXPECT_EQ(read_output(9), " ");
    EXPECT_TRUE(carrier_.empty());
}

TEST_F(PageCarrierTest, SpeaksTheSystemsSplice) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    const UniqueFd near(ends[0]), far(ends[1]);
    auto carrier = PageCarrier::make();
    ASSERT_TRUE(carrier);
    print("bytes");
    ASSERT_TRUE(carrier->load("head", output_.get(), 5));
    EXPECT_EQ(carrier->send(near.get(), rest_), Sent::all);
    std::string received(100, '\0');
    const ssize_t count = ::read(far.get(), received.data(), received.size());
    EXPECT_EQ(received.substr(0, static_cast<std::size_t>(std::max<ssize_t>(count, 0))),
              "headbytes");
}

TEST_F(PageCarrierTest, TakesASendThatComesToNothingBack) {
    print("bytes");
    ASSERT_TRUE(carrier_.load("head", output_.get(), 5));
    port_takes = 0;
    EXPECT_EQ(carrier_.send(-1, rest_), Sent::none);
    EXPECT_TRUE(carrier_.empty());
    // Nothing of it turns up later.
    port_takes = 100;
    ASSERT_TRUE(carrier_.load("HEAD", output_.get(), 5));
    EXPECT_EQ(carrier_.send(-1, rest_), Sent::all);
    EXPECT_EQ(port, "HEADbytes");
}

TEST_F(PageCarrierTest, GivesTheRestOfAPartBack) {
    print("bytes");
    ASSERT_TRUE(carrier_.load("head", output_.get(), 5));
    port_takes = 6;
    EXPECT_EQ(carrier_.send(-1, rest_), Sent::part);
    EXPECT_EQ(port, "headby");
    EXPECT_EQ(rest_, "tes");
    EXPECT_TRUE(carrier_.empty());
}

TEST_F(PageCarrierTest, AllDroppedIsNoneAndARestDroppedIsBroken) {
    port_drops = true;
    port_takes = 0;
    print("bytes");
    ASSERT_TRUE(carrier_.load("head", output_.get(), 5));
    EXPECT_EQ(carrier_.send(-1, rest_), Sent::none);
    ASSERT_TRUE(carrier_.load("head", output_.get(), 5));
    port_takes = 4;
    EXPECT_EQ(carrier_.send(-1, rest_), Sent::broken);
    EXPECT_TRUE(carrier_.empty());
}

TEST_F(PageCarrierTest, SaysWhenThereIsLessThanAskedFor) {
    print("abc");
    EXPECT_FALSE(carrier_.load("head", output_.get(), 4));
    carrier_.unload();
    EXPECT_TRUE(carrier_.empty());
    EXPECT_EQ(carrier_.send(-1, rest_), Sent::none) << "nothing was loaded";
    EXPECT_FALSE(carrier_.load("head", program_.get(), 1)) << "not the end that can be read";
}

// Each piece of a little more than half a page fills a place for a page.
TEST_F(PageCarrierTest, HasRoomForAWholeTurnOfHalfFullPages) {
    constexpr std::size_t piece = 2049, turn = 256u << 10;
    ASSERT_GT(::fcntl(program_.get(), F_SETPIPE_SZ, 1 << 20), 0);
    for (std::size_t sent = 0; sent < turn; sent += piece) print(std::string(piece, 'x'));
    for (std::size_t loaded = 0; loaded < turn; loaded += 64u << 10) {
        ASSERT_TRUE(carrier_.load("head", output_.get(), 64u << 10));
        ASSERT_EQ(read_output(64u << 10).size(), 64u << 10);
    }
    EXPECT_EQ(carrier_.send(-1, rest_), Sent::all);
    EXPECT_EQ(port.size(), turn + 4 * 4);
}

}  // namespace
}  // namespace protocol
