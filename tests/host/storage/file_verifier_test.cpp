#include "host/storage/file_verifier.hpp"

#include "temporary_folder.hpp"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace host::storage {
namespace {

using ::testing::HasSubstr;

// sha256sum of "contents\n"
constexpr char digest[] = "bfe5ed57e6e323555b379c660aa8d35b70c2f8f07cf03ad6747266495ac13be0";

class FileVerifierTest : public ::testing::Test {
  protected:
    FileVerifierTest() {
        std::filesystem::create_directories(folder / "full-0123456789ab");
        put_file(path, "contents\n");
        file.path.value = path;
        file.size = 9;
        file.sha256 = digest;
    }
    TemporaryFolder folder;
    std::string path = folder / "full-0123456789ab/disk.qcow2";
    sandbox::FileDigest file;
    FileVerifier verifier;
};

TEST_F(FileVerifierTest, ReadsAFileOnce) {
    for (int i = 0; i < 3; ++i) {
        const auto right = verifier.check(file);
        ASSERT_TRUE(right) << right.error().describe();
    }
    EXPECT_EQ(verifier.files_read(), 1u);
}

TEST_F(FileVerifierTest, ReadsItAgainWhenItMayHaveChanged) {
    ASSERT_TRUE(verifier.check(file));
    // Same size and, put back by hand, the same time of its contents.
    const auto before = std::filesystem::last_write_time(path);
    put_file(path, "Contents\n");
    std::filesystem::last_write_time(path, before);
    const auto changed = verifier.check(file);
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code(), "image-damaged");
    EXPECT_EQ(verifier.files_read(), 2u);
    // What is wrong stays wrong, and what was mended is right.
    EXPECT_FALSE(verifier.check(file));
    put_file(path, "contents\n");
    EXPECT_TRUE(verifier.check(file));
}

TEST_F(FileVerifierTest, SaysWhatIsWrongAndWhatToDo) {
    put_file(path, "cut\n");
    const auto shorter = verifier.check(file);
    ASSERT_FALSE(shorter);
    EXPECT_THAT(shorter.error().message(), HasSubstr(path + " has 4 bytes, its manifest says 9"));
    EXPECT_THAT(shorter.error().message(), HasSubstr("mt image build full"));
    EXPECT_EQ(verifier.files_read(), 0u);
    file.sha256.clear();
    EXPECT_THAT(verifier.check(file).error().message(), HasSubstr("not described"));
    file.path.value += "x";
    EXPECT_FALSE(verifier.check(file));
}

TEST_F(FileVerifierTest, ManyWhoAskAtOnceReadItOnce) {
    std::vector<std::thread> threads;
    std::atomic<int> right = 0;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] { right += verifier.check(file) ? 1 : 0; });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(right, 8);
    EXPECT_EQ(verifier.files_read(), 1u);
}

}  // namespace
}  // namespace host::storage
