#include "host/libvirt/kvm_access.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace host::libvirt {
namespace {

// Version 2, then tag, permissions and id of each entry.
std::string acl(std::initializer_list<std::array<std::uint32_t, 3>> entries) {
    std::string bytes("\2\0\0\0", 4);
    for (const auto& [tag, permissions, id] : entries) {
        bytes += {static_cast<char>(tag), 0, static_cast<char>(permissions), 0};
        for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(id >> shift & 0xff);
    }
    return bytes;
}

constexpr std::uint32_t none = 0xffffffff;
constexpr std::uint32_t owner = 1, user = 2, owning_group = 4, group = 8, mask = 16, others = 32;

TEST(KvmAccess, MakesAListOfAMode) {
    EXPECT_EQ(acl_with_group("", 0660, 64055), acl({{owner, 6, none},
                                                    {owning_group, 6, none},
                                                    {group, 6, 64055},
                                                    {mask, 6, none},
                                                    {others, 0, none}}));
}

TEST(KvmAccess, KeepsWhatIsThere) {
    const std::string before = acl({{owner, 6, none},
                                    {user, 6, 1000},
                                    {owning_group, 4, none},
                                    {group, 4, 70000},
                                    {mask, 4, none},
                                    {others, 0, none}});
    const std::string after = acl({{owner, 6, none},
                                   {user, 6, 1000},
                                   {owning_group, 4, none},
                                   {group, 6, 64055},
                                   {group, 4, 70000},
                                   {mask, 6, none},
                                   {others, 0, none}});
    EXPECT_EQ(acl_with_group(before, 0640, 64055), after);
    EXPECT_EQ(acl_with_group(after, 0660, 64055), after);
}

TEST(KvmAccess, LeavesAloneWhatItDoesNotUnderstand) {
    EXPECT_EQ(acl_with_group("\1", 0660, 1), "");
    EXPECT_EQ(acl_with_group(std::string("\3\0\0\0", 4), 0660, 1), "");
    EXPECT_EQ(acl_with_group(std::string("\2\0\0\0", 4), 0660, 1), "");
    EXPECT_EQ(acl_with_group(acl({{owner, 6, none}}) + "x", 0660, 1), "");
}

TEST(KvmAccess, IsWhatTheKernelTakes) {
    std::string path = ::testing::TempDir() + "kvm-access-XXXXXX";
    const int file = ::mkstemp(path.data());
    ASSERT_GE(file, 0);
    ::close(file);
    ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
    const std::string list = acl_with_group("", 0640, 64055);
    const int set =
        ::setxattr(path.c_str(), "system.posix_acl_access", list.data(), list.size(), 0);
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    std::remove(path.c_str());
    if (set != 0 && errno == EOPNOTSUPP) GTEST_SKIP() << "this file system has no lists";
    ASSERT_EQ(set, 0);
    EXPECT_EQ(status.st_mode & 0777, 0660u);  // the mask shows as the group's bits
}

}  // namespace
}  // namespace host::libvirt
