#include "host/machine/vsock_listeners.hpp"

#include <cstring>
#include <linux/netlink.h>
#include <linux/vm_sockets_diag.h>
#include <netinet/tcp.h>
#include <string>

#include <gtest/gtest.h>

namespace host::machine {
namespace {

std::string message(std::uint16_t type, const void* body, std::size_t size) {
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + size);
    header.nlmsg_type = type;
    std::string text(NLMSG_ALIGN(header.nlmsg_len), '\0');
    std::memcpy(text.data(), &header, sizeof header);
    if (size > 0) std::memcpy(text.data() + NLMSG_HDRLEN, body, size);
    return text;
}

std::string listener(std::uint32_t cid, std::uint32_t port, std::uint8_t state = TCP_LISTEN) {
    vsock_diag_msg body{};
    body.vdiag_src_cid = cid;
    body.vdiag_src_port = port;
    body.vdiag_state = state;
    return message(20, &body, sizeof body);
}

struct Read {
    explicit Read(const std::string& datagram) { done = read_listeners(datagram, found, refused); }
    std::vector<VsockListener> found;
    bool refused = false;
    bool done = false;
};

TEST(ReadListeners, FindsEachListener) {
    const Read read(listener(0xFFFFFFFF, 22) + listener(2, 1'000) +
                    listener(2, 5, TCP_ESTABLISHED));
    EXPECT_FALSE(read.done);
    ASSERT_EQ(read.found.size(), 2u);
    EXPECT_EQ(read.found[0].port, 22u);
    EXPECT_EQ(read.found[1].cid, 2u);
}

TEST(ReadListeners, EndsAtTheEnd) {
    EXPECT_TRUE(Read(message(NLMSG_DONE, nullptr, 0)).done);
    EXPECT_FALSE(Read(message(NLMSG_DONE, nullptr, 0)).refused);
}

TEST(ReadListeners, TellsARefusal) {
    const nlmsgerr error{};
    EXPECT_TRUE(Read(message(NLMSG_ERROR, &error, sizeof error)).refused);
}

TEST(ReadListeners, StopsAtAMessageThatLies) {
    std::string cut = listener(2, 1);
    cut.resize(cut.size() - 8);
    EXPECT_TRUE(Read(cut).done);
    EXPECT_TRUE(Read(cut).found.empty());
    EXPECT_TRUE(Read(std::string(32, '\0')).done);  // length 0 would loop for ever
    EXPECT_FALSE(Read("short").done);
}

}  // namespace
}  // namespace host::machine
