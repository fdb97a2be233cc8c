#include "host/api/listener.hpp"

#include "tests/host/api/harness.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>

namespace host::api::testing {
namespace {

using ::testing::HasSubstr;

class ListenerTest : public ::testing::Test {
  protected:
    ListenerTest() {
        char name[] = "/tmp/capsule-listener-XXXXXX";
        folder = ::mkdtemp(name);
        path = folder + "/api.sock";
    }
    ~ListenerTest() override { std::filesystem::remove_all(folder); }

    auto listen() { return Listener::unix_socket(loop.get_executor(), path, "no-such-group"); }

    boost::asio::io_context loop;
    std::string folder, path;
};

TEST_F(ListenerTest, MakesTheSocketForGroupMembersOnly) {
    auto listener = listen();
    ASSERT_TRUE(listener) << listener.error().describe();
    struct stat info {};
    ASSERT_EQ(::lstat(path.c_str(), &info), 0);
    EXPECT_TRUE(S_ISSOCK(info.st_mode));
    EXPECT_EQ(info.st_mode & 07777u, 0660u);
    EXPECT_EQ(info.st_gid, 0u);
    (*listener)->close();
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ListenerTest, ReplacesOnlyASocketNobodyAnswersOn) {
    {
        const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, path.data(), path.size());
        ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        ::close(fd);
    }
    auto first = listen();
    ASSERT_TRUE(first) << first.error().describe();
    const auto second = listen();
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind(), Kind::conflict);
    EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(ListenerTest, LeavesOtherFilesAlone) {
    std::ofstream(path) << "precious";
    const auto listener = listen();
    ASSERT_FALSE(listener);
    EXPECT_THAT(listener.error().message(), HasSubstr("not a socket"));
    EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(ListenerTest, DoesNotRemoveASuccessorsSocket) {
    auto first = listen();
    ASSERT_TRUE(first);
    std::filesystem::remove(path);
    auto second = listen();
    ASSERT_TRUE(second);
    (*first)->close();
    EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(ListenerTest, TakesNumericAddressesOnly) {
    for (const char* text : {"", "7070", ":7070", "localhost:7070", "127.0.0.1",
                             "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "[::1:1", "1.2.3:1"}) {
        EXPECT_FALSE(Listener::tcp(loop.get_executor(), text)) << text;
    }
    auto any = Listener::tcp(loop.get_executor(), "127.0.0.1:0");
    ASSERT_TRUE(any);
    EXPECT_NE((*any)->port(), 0);
    EXPECT_FALSE(Listener::tcp(loop.get_executor(), "127.0.0.1:" + std::to_string((*any)->port())));
}

TEST_F(ListenerTest, RefusesPathsThatDoNotFit) {
    path = "/tmp/" + std::string(200, 'x');
    EXPECT_FALSE(listen());
    path = "/tmp/no-such-folder-here/api.sock";
    EXPECT_FALSE(listen());
}

}  // namespace
}  // namespace host::api::testing
