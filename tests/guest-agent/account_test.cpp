#include "guest-agent/process/account.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace guest_agent {
namespace {

using testing::ElementsAre;

constexpr std::string_view passwd =
    "root:x:0:0:root:/root:/bin/bash\n"
    "# a comment, which is no account\n"
    "broken:x:12\n"
    "letters:x:one:1::/:/bin/sh\n"
    "everyone:x:4294967295:1::/:/bin/sh\n"
    "maitento:x:1000:1000:,,,:/home/maitento:/bin/bash\n"
    "bare:x:1001:1001:::\n"
    "maitento:x:0:0:a second one:/root:/bin/bash";
constexpr std::string_view group =
    "root:x:0:\n"
    "disk:x:6:maitento\n"
    "maitento:x:1000:\n"
    "own:x:1000:maitento\n"
    "users:x:100:bare,maitento\n"
    "near:x:101:maitento2,xmaitento\n"
    "broken\n";

TEST(Account, HasIdsHomeShellAndGroups) {
    const auto account = find_account(passwd, group, "maitento");
    ASSERT_TRUE(account);
    EXPECT_EQ(account->uid, 1000U);
    EXPECT_EQ(account->gid, 1000U);
    EXPECT_EQ(account->home, "/home/maitento");
    EXPECT_EQ(account->shell, "/bin/bash");
    EXPECT_THAT(account->groups, ElementsAre(1000, 6, 100));
}

TEST(Account, IsTheFirstOfThatName) {
    EXPECT_EQ(find_account(passwd, group, "maitento")->uid, 1000U);
}

TEST(Account, HasDefaultsForEmptyHomeAndShell) {
    const auto account = find_account(passwd, group, "bare");
    ASSERT_TRUE(account);
    EXPECT_EQ(account->home, "/");
    EXPECT_EQ(account->shell, "/bin/sh");
}

TEST(Account, IsNotFoundForUnknownEmptyOrBrokenNames) {
    for (const auto* name :
         {"nobody-here", "", "broken", "letters", "# a comment, which is no account"}) {
        EXPECT_FALSE(find_account(passwd, group, name)) << name;
    }
}

// setresuid(-1) changes nothing: such a command would run as root.
TEST(Account, IsNeverTheIdThatMeansNoChange) {
    EXPECT_FALSE(find_account(passwd, group, "everyone"));
}

TEST(Account, NameInFailureIsEscaped) {
    const std::string root = testing::TempDir() + "account-test";
    std::filesystem::create_directories(root + "/etc");
    std::ofstream(root + "/etc/passwd") << passwd;
    EXPECT_TRUE(read_account(root, "maitento"));
    const auto account = read_account(root, "no\nsuch");
    ASSERT_FALSE(account);
    EXPECT_EQ(account.error().message(), "user 'no\\x0Asuch' does not exist");
    std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace guest_agent
