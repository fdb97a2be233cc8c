// Unix sockets only: a vsock socket on a build machine could reach that machine's own host.

#include "protocol/channel/transport.hpp"

#include "protocol/base/ids.hpp"

#include <fcntl.h>
#include <filesystem>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace protocol {
namespace {

class UnixSocket : public testing::Test {
  protected:
    void SetUp() override {
        listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, path_.size());
        ASSERT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address),
                  0);
        ASSERT_EQ(::listen(listener_.get(), 4), 0);
    }
    void TearDown() override { std::filesystem::remove(path_); }

    const std::string path_ =
        std::filesystem::temp_directory_path() / ("link-" + RunId::random().str());
    UniqueFd listener_;
};

TEST_F(UnixSocket, ConnectsNonBlockingAndCloseOnExec) {
    const auto fd = connect_unix(path_);
    ASSERT_TRUE(fd) << fd.error().describe();
    EXPECT_NE(::fcntl(fd->get(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC, 0);
    const UniqueFd accepted(::accept(listener_.get(), nullptr, nullptr));
    ASSERT_EQ(::write(accepted.get(), "x", 1), 1);
    char byte = 0;
    EXPECT_EQ(::read(fd->get(), &byte, 1), 1);
}

TEST(UnixPath, ThatIsNotThereIsAFailureOfTheSystem) {
    const auto fd = connect_unix("/nowhere/link");
    ASSERT_FALSE(fd);
    EXPECT_EQ(fd.error().cause(), std::errc::no_such_file_or_directory);
}

TEST(UnixPath, ThatIsTooLongIsRefused) {
    EXPECT_EQ(connect_unix("/" + std::string(200, 'x')).error().kind(), Kind::invalid_argument);
}

TEST(VirtioPort, ThatIsNotThereIsNotFound) {
    EXPECT_EQ(open_virtio_port("org.example.none").error().kind(), Kind::not_found);
}

}  // namespace
}  // namespace protocol
