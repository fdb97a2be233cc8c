// A guest swaps a folder for a link while the host works in it.

#include "host/storage/vfs_files.hpp"
#include "temporary_folder.hpp"

#include <atomic>
#include <fcntl.h>
#include <stdio.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace host::storage {
namespace {

// Outside: <folder>/outside with a canary; in the VFS `spot` is a folder or a link to it, in turns.
class VfsRaceTest : public ::testing::Test {
  protected:
    VfsRaceTest() {
        std::filesystem::create_directories(outside + "/sub");
        put_file(outside + "/secret", "canary");
        std::filesystem::create_directories(root + "/spot/sub");
        put_file(root + "/spot/secret", "inside");
        std::filesystem::create_symlink(outside, root + "/other");
        guest_ = std::thread([this] {
            while (!stop_) {
                renameat2(AT_FDCWD, (root + "/spot").c_str(), AT_FDCWD, (root + "/other").c_str(),
                          RENAME_EXCHANGE);
                ++swaps_;
            }
        });
    }
    ~VfsRaceTest() override { stop_guest(); }

    void stop_guest() {
        stop_ = true;
        if (guest_.joinable()) guest_.join();
    }
    // Runs `attempt` until the folder was swapped often and it was made often, with both outcomes
    // seen.
    template <typename Attempt>
    void repeat(const Attempt& attempt) {
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(3);
        int tries = 0;
        while ((tries < 2'000 || swaps_ < 2'000) && std::chrono::steady_clock::now() < limit) {
            attempt();
            ++tries;
        }
        stop_guest();
        EXPECT_GT(swaps_, 100) << "the race was not run";
        EXPECT_GT(tries, 100) << "the race was not run";
    }

    TemporaryFolder folder;
    const std::string root = folder / "vfs";
    const std::string outside = folder / "outside";

  private:
    std::atomic<bool> stop_ = false;
    std::atomic<int> swaps_ = 0;
    std::thread guest_;
};

TEST_F(VfsRaceTest, ReadingNeverLeavesTheFolder) {
    const auto files = VfsFiles::open(root);
    ASSERT_TRUE(files);
    repeat([&] {
        const auto opened = files->read("/spot/secret");
        if (!opened) return;
        char text[16] = {};
        const ssize_t count = read(opened->first.get(), text, sizeof text);
        ASSERT_EQ(std::string(text, static_cast<std::size_t>(count)), "inside");
    });
}

TEST_F(VfsRaceTest, WritingNeverLeavesTheFolder) {
    const auto files = VfsFiles::open(root);
    ASSERT_TRUE(files);
    repeat([&] {
        auto writer = files->write("/spot/sub/new/planted");
        if (!writer) return;
        static_cast<void>(writer->write("x"));
        static_cast<void>(writer->commit());
    });
    EXPECT_TRUE(std::filesystem::is_empty(outside + "/sub"));
}

TEST_F(VfsRaceTest, RemovingNeverLeavesTheFolder) {
    const auto files = VfsFiles::open(root);
    ASSERT_TRUE(files);
    repeat([&] {
        static_cast<void>(files->remove("/spot/sub", true));
        static_cast<void>(files->make_folder("/spot/sub"));
        static_cast<void>(files->remove("/spot/secret", false));
    });
    EXPECT_EQ(content_of(outside + "/secret"), "canary");
    EXPECT_TRUE(std::filesystem::is_directory(outside + "/sub"));
}

TEST_F(VfsRaceTest, ListingNeverLeavesTheFolder) {
    put_file(outside + "/only-outside", "");
    const auto files = VfsFiles::open(root);
    ASSERT_TRUE(files);
    repeat([&] {
        const auto entries = files->list("/spot");
        if (!entries) return;
        for (const auto& entry : *entries) ASSERT_NE(entry.name, "only-outside");
    });
}

}  // namespace
}  // namespace host::storage
