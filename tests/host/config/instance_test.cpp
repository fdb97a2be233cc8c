#include "host/config/instance.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

namespace host::config {
namespace {

TEST(Instance, IsOneForEachStateFolder) {
    std::string folder = (std::filesystem::temp_directory_path() / "instance-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const std::string pid_file = folder + "/run/capsuled.pid";
    {
        const auto first = Instance::claim(folder + "/state", folder + "/run");
        ASSERT_TRUE(first) << first.error().describe();
        pid_t pid = 0;
        std::ifstream(pid_file) >> pid;
        EXPECT_EQ(pid, ::getpid());
        const auto second = Instance::claim(folder + "/state", folder + "/other-run");
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().kind(), protocol::Kind::conflict);
        EXPECT_NE(second.error().message().find(folder + "/state"), std::string::npos);
    }
    EXPECT_FALSE(std::filesystem::exists(pid_file));
    EXPECT_TRUE(Instance::claim(folder + "/state", folder + "/run"));
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace host::config
