#include "host/storage/secret_box.hpp"

#include "temporary_folder.hpp"

#include <sys/stat.h>

#include <gtest/gtest.h>

namespace host::storage {
namespace {

using protocol::Kind;

class SecretBoxTest : public ::testing::Test {
  protected:
    TemporaryFolder folder;
    const std::string key = folder / "etc/secret.key";
    SecretBox box = *SecretBox::open(key);
};

TEST_F(SecretBoxTest, GivesBackExactBytes) {
    for (const std::string& value : {std::string("line\n\n"), std::string(" x "), std::string(),
                                     std::string("a\0b", 3), std::string(65'536, '\xFF')}) {
        const auto opened = box.open_sealed("default/s1", box.seal("default/s1", value));
        ASSERT_TRUE(opened);
        EXPECT_EQ(*opened, value);
    }
}

TEST_F(SecretBoxTest, SealsTheSameValueDifferentlyEachTime) {
    EXPECT_NE(box.seal("a", "value"), box.seal("a", "value"));
}

TEST_F(SecretBoxTest, HidesTheValue) {
    EXPECT_EQ(box.seal("a", "CANARY-71c4e0").find("CANARY"), std::string::npos);
}

TEST_F(SecretBoxTest, DoesNotOpenUnderAnotherName) {
    EXPECT_EQ(box.open_sealed("default/b", box.seal("default/a", "x")).error().kind(), Kind::io);
}

TEST_F(SecretBoxTest, DoesNotOpenWhenAnyByteChanged) {
    const std::string sealed = box.seal("a", "value");
    for (std::size_t i = 0; i < sealed.size(); ++i) {
        std::string changed = sealed;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        EXPECT_FALSE(box.open_sealed("a", changed)) << i;
        EXPECT_FALSE(box.open_sealed("a", sealed.substr(0, i))) << i;
    }
}

TEST_F(SecretBoxTest, KeepsItsKey) {
    const std::string sealed = box.seal("a", "value");
    const auto again = SecretBox::open(key);
    ASSERT_TRUE(again);
    EXPECT_EQ(*again->open_sealed("a", sealed), "value");
    struct stat status {};
    ASSERT_EQ(stat(key.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0400u);
    EXPECT_EQ(status.st_size, 32);
}

TEST_F(SecretBoxTest, DoesNotOpenWithAnotherKey) {
    const auto other = SecretBox::open(folder / "other.key");
    ASSERT_TRUE(other);
    EXPECT_FALSE(other->open_sealed("a", box.seal("a", "value")));
}

TEST_F(SecretBoxTest, RefusesAKeyThatOthersCanRead) {
    ASSERT_EQ(chmod(key.c_str(), 0440), 0);
    EXPECT_EQ(SecretBox::open(key).error().kind(), Kind::forbidden);
}

TEST_F(SecretBoxTest, RefusesAKeyOfTheWrongSize) {
    for (const std::size_t size : {0u, 31u, 33u}) {
        const std::string file = folder / std::to_string(size);
        put_file(file, std::string(size, 'k'));
        ASSERT_EQ(chmod(file.c_str(), 0400), 0);
        EXPECT_FALSE(SecretBox::open(file)) << size;
    }
}

TEST_F(SecretBoxTest, RefusesALinkToAKey) {
    std::filesystem::create_symlink(key, folder / "link");
    EXPECT_FALSE(SecretBox::open(folder / "link"));
}

}  // namespace
}  // namespace host::storage
