#include "host/storage/vfs_files.hpp"

#include "temporary_folder.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace host::storage {
namespace {

using protocol::Kind;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// Outside of the VFS, one level above it: <folder>/canary.txt; the VFS is <folder>/vfs.
class VfsFilesTest : public ::testing::Test {
  protected:
    VfsFilesTest() {
        put_file(folder / "canary.txt", "canary");
        std::filesystem::create_directory(root);
    }

    VfsFiles open() {
        auto files = VfsFiles::open(root);
        EXPECT_TRUE(files);
        return std::move(*files);
    }
    std::string in(const std::string& name) const { return root + "/" + name; }

    // What a failed call says: its code, or its kind where it has none.
    template <typename T>
    static std::string why(const Result<T>& result) {
        if (result) return "success";
        return result.error().code().empty()
                   ? std::string(protocol::to_string(result.error().kind()))
                   : result.error().code();
    }
    static std::string read(const VfsFiles& files, std::string_view path) {
        auto opened = files.read(path);
        if (!opened) return "failed: " + why(opened);
        std::string text(static_cast<std::size_t>(opened->second.size), '\0');
        const ssize_t count = ::read(opened->first.get(), text.data(), text.size());
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        return text;
    }
    static std::string write(const VfsFiles& files, std::string_view path, std::string_view text) {
        auto writer = files.write(path);
        if (!writer) return why(writer);
        if (auto written = writer->write(text); !written) return why(written);
        const auto committed = writer->commit();
        if (!committed) return why(committed);
        return *committed ? "replaced" : "made";
    }

    TemporaryFolder folder;
    std::string root = folder / "vfs";
};

// ---- plain use ----

TEST_F(VfsFilesTest, WritesAndReads) {
    const auto files = open();
    EXPECT_EQ(write(files, "/a/b/c.txt", "one"), "made");
    EXPECT_EQ(write(files, "/a/b/c.txt", "two"), "replaced");
    EXPECT_EQ(read(files, "a/b/c.txt"), "two");
}

TEST_F(VfsFilesTest, GivesWhatItMakesToTheGuestsUser) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_EQ(write(open(), "/a/b", "x"), "made");
    struct stat status {};
    ASSERT_EQ(stat(in("a").c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, 1000u);
    EXPECT_EQ(status.st_gid, 1000u);
    EXPECT_EQ(status.st_mode & 07777, 0775u);
    ASSERT_EQ(stat(in("a/b").c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, 1000u);
    EXPECT_EQ(status.st_mode & 07777, 0664u);
}

TEST_F(VfsFilesTest, ShowsNothingOfAFileBeforeItIsComplete) {
    const auto files = open();
    put_file(in("a"), "old");
    {
        auto writer = files.write("/a");
        ASSERT_TRUE(writer);
        ASSERT_TRUE(writer->write("half"));
        EXPECT_EQ(read(files, "/a"), "old");
        EXPECT_THAT(*files.list("/"), SizeIs(1));
    }
    EXPECT_EQ(read(files, "/a"), "old");
    EXPECT_THAT(*files.list("/"), SizeIs(1));
}

TEST_F(VfsFilesTest, ListsSortedByNameBytes) {
    const auto files = open();
    for (const auto* name : {"b", "a", "\xC3\xA9", "B"}) put_file(in(name), "");
    std::vector<std::string> names;
    const auto entries = files.list("/");
    ASSERT_TRUE(entries);
    for (const auto& entry : *entries) names.push_back(entry.name);
    EXPECT_THAT(names, ElementsAre("B", "a", "b", "\xC3\xA9"));
}

TEST_F(VfsFilesTest, ToldOfEachType) {
    const auto files = open();
    put_file(in("file"), "123");
    std::filesystem::create_directory(in("folder"));
    std::filesystem::create_symlink("nowhere", in("link"));
    ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
    EXPECT_EQ(files.stat("/file")->type, VfsEntry::Type::file);
    EXPECT_EQ(files.stat("/file")->size, 3u);
    EXPECT_EQ(files.stat("/folder")->type, VfsEntry::Type::folder);
    EXPECT_EQ(files.stat("/link")->type, VfsEntry::Type::link);
    EXPECT_EQ(files.stat("/pipe")->type, VfsEntry::Type::other);
    EXPECT_EQ(files.stat("/")->type, VfsEntry::Type::folder);
}

TEST_F(VfsFilesTest, SaysWhatIsNotThere) {
    const auto files = open();
    put_file(in("file"), "");
    EXPECT_EQ(why(files.stat("/none")), "not_found");
    EXPECT_EQ(why(files.read("/none/deeper")), "not_found");
    EXPECT_EQ(why(files.list("/file")), "not-a-folder");
    EXPECT_EQ(why(files.read("/")), "is-a-folder");
    EXPECT_EQ(why(files.write("/file/below")), "not-a-folder");
}

TEST_F(VfsFilesTest, MakesFoldersOnceOrTwice) {
    const auto files = open();
    EXPECT_TRUE(files.make_folder("/a/b/c"));
    EXPECT_TRUE(files.make_folder("/a/b/c"));
    EXPECT_TRUE(files.make_folder("/"));
    put_file(in("file"), "");
    EXPECT_EQ(why(files.make_folder("/file")), "not-a-folder");
}

TEST_F(VfsFilesTest, MovesButNeverReplaces) {
    const auto files = open();
    put_file(in("a"), "a");
    put_file(in("b"), "b");
    EXPECT_EQ(why(files.move("/a", "/b")), "already-exists");
    EXPECT_EQ(why(files.move("/none", "/c")), "not_found");
    EXPECT_EQ(why(files.move("/a", "/none/c")), "not_found");
    EXPECT_TRUE(files.move("/a", "/c"));
    EXPECT_EQ(read(files, "/c"), "a");
    ASSERT_TRUE(files.make_folder("/f"));
    EXPECT_EQ(why(files.move("/f", "/f/g")), "invalid_argument");
}

TEST_F(VfsFilesTest, RemovesFoldersOnlyWhenAskedTo) {
    const auto files = open();
    ASSERT_EQ(write(files, "/a/b/c", "x"), "made");
    EXPECT_EQ(why(files.remove("/a", false)), "not-empty");
    EXPECT_TRUE(files.remove("/a", true));
    EXPECT_EQ(why(files.remove("/a", true)), "not_found");
    EXPECT_EQ(why(files.remove("/", true)), "invalid_argument");
}

TEST_F(VfsFilesTest, RefusesWritingOverAFolder) {
    const auto files = open();
    ASSERT_TRUE(files.make_folder("/a"));
    EXPECT_EQ(write(files, "/a", "x"), "is-a-folder");
    EXPECT_EQ(write(files, "/", "x"), "invalid_argument");
}

// ---- names ----

TEST_F(VfsFilesTest, KeepsAwkwardNames) {
    const auto files = open();
    const std::vector<std::string> names = {"a b.txt",
                                            "na\xC3\xAFve-\xE6\x97\xA5\xE6\x9C\xAC.txt",
                                            "new\nline.txt",
                                            "-rf",
                                            " lead",
                                            "tab\tx",
                                            "not-utf8-\xFF\xFE",
                                            "...",
                                            std::string(255, 'x')};
    for (const auto& name : names) EXPECT_EQ(write(files, "/" + name, name), "made") << name;
    const auto entries = files.list("/");
    ASSERT_TRUE(entries);
    EXPECT_THAT(*entries, SizeIs(names.size()));
    for (const auto& name : names) EXPECT_EQ(read(files, "/" + name), name);
    for (const auto& name : names) EXPECT_TRUE(files.remove("/" + name, false)) << name;
}

TEST_F(VfsFilesTest, RefusesPathsThatCannotBeNames) {
    const auto files = open();
    for (const std::string& path :
         {std::string("/../canary.txt"), std::string("/a/../../canary.txt"), std::string(".."),
          std::string("/./a"), std::string("/a\0b", 4), "/" + std::string(256, 'x'),
          std::string(5'000, '/') + "a"}) {
        EXPECT_EQ(why(files.stat(path)), "invalid_argument") << path;
        EXPECT_EQ(why(files.read(path)), "invalid_argument") << path;
        EXPECT_EQ(why(files.write(path)), "invalid_argument") << path;
        EXPECT_EQ(why(files.list(path)), "invalid_argument") << path;
        EXPECT_EQ(why(files.move(path, "/x")), "invalid_argument") << path;
        EXPECT_EQ(why(files.move("/x", path)), "invalid_argument") << path;
        EXPECT_EQ(why(files.remove(path, true)), "invalid_argument") << path;
        EXPECT_EQ(why(files.make_folder(path)), "invalid_argument") << path;
    }
}

// ---- what a guest may have planted ----

class PlantedLinkTest : public VfsFilesTest, public ::testing::WithParamInterface<const char*> {
  protected:
    void SetUp() override {
        std::filesystem::create_symlink("../canary.txt", in("up"));
        std::filesystem::create_symlink(folder / "canary.txt", in("absolute"));
        std::filesystem::create_symlink(folder.path(), in("outside"));
        std::filesystem::create_symlink("/", in("slash"));
        std::filesystem::create_symlink("/proc/self/root", in("magic"));
        std::filesystem::create_symlink("loop", in("loop"));
        std::filesystem::create_symlink("inside-target", in("inside"));
        put_file(in("inside-target"), "inside");
    }
};

TEST_P(PlantedLinkTest, IsNeverFollowed) {
    const auto files = open();
    const std::string link = std::string("/") + GetParam();
    EXPECT_EQ(why(files.read(link)), "is-a-link");
    EXPECT_EQ(why(files.list(link)), "is-a-link");
    EXPECT_EQ(why(files.write(link)), "is-a-link");
    EXPECT_EQ(why(files.make_folder(link)), "is-a-link");
    EXPECT_EQ(files.stat(link)->type, VfsEntry::Type::link);
    // What a broken confinement would reach has to be this test's own: never a file of the machine.
    const bool to_root = link == "/slash" || link == "/magic";
    const std::string base = link + (to_root ? folder.path() : std::string());
    for (const std::string& path : {base + "/canary.txt", base + "/x/y"}) {
        EXPECT_EQ(why(files.stat(path)), "is-a-link") << path;
        EXPECT_EQ(why(files.read(path)), "is-a-link") << path;
        EXPECT_EQ(why(files.write(path)), "is-a-link") << path;
        EXPECT_EQ(why(files.list(path)), "is-a-link") << path;
        EXPECT_EQ(why(files.make_folder(path)), "is-a-link") << path;
        EXPECT_EQ(why(files.remove(path, true)), "is-a-link") << path;
        EXPECT_EQ(why(files.move(path, "/z")), "is-a-link") << path;
        EXPECT_EQ(why(files.move("/inside-target", path)), "is-a-link") << path;
    }
    EXPECT_EQ(content_of(folder / "canary.txt"), "canary");
}

TEST_P(PlantedLinkTest, IsMovedAndRemovedItself) {
    const auto files = open();
    const std::string link = std::string("/") + GetParam();
    EXPECT_TRUE(files.move(link, "/moved"));
    EXPECT_TRUE(files.remove("/moved", true));
    EXPECT_EQ(content_of(folder / "canary.txt"), "canary");
    EXPECT_EQ(content_of(in("inside-target")), "inside");
}

INSTANTIATE_TEST_SUITE_P(Links, PlantedLinkTest,
                         ::testing::Values("up", "absolute", "outside", "slash", "magic", "loop",
                                           "inside"));

TEST_F(VfsFilesTest, LinksPlantedWhileWritingAreNotWrittenThrough) {
    const auto files = open();
    auto writer = files.write("/a");
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->write("evil"));
    std::filesystem::create_symlink("../canary.txt", in("a"));
    EXPECT_EQ(why(writer->commit()), "is-a-link");
    EXPECT_EQ(content_of(folder / "canary.txt"), "canary");
}

TEST_F(VfsFilesTest, PipesDevicesAndSocketsAreNotOpened) {
    const auto files = open();
    ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
    EXPECT_EQ(why(files.read("/pipe")), "not-a-file");  // would block for ever if opened
    EXPECT_EQ(why(files.write("/pipe")), "not-a-file");
    if (mknod(in("device").c_str(), S_IFCHR | 0600, makedev(1, 5)) != 0) {
        GTEST_SKIP() << "device nodes cannot be made here";
    }
    EXPECT_EQ(why(files.read("/device")), "not-a-file");
    EXPECT_TRUE(files.remove("/device", false));
}

TEST_F(VfsFilesTest, WritingReplacesAHardLinkAndNotWhatItNames) {
    const auto files = open();
    ASSERT_EQ(link((folder / "canary.txt").c_str(), in("hard").c_str()), 0);
    EXPECT_EQ(write(files, "/hard", "new"), "replaced");
    EXPECT_EQ(content_of(folder / "canary.txt"), "canary");
}

TEST_F(VfsFilesTest, RemovingATreeLeavesWhatItsLinksName) {
    const auto files = open();
    ASSERT_TRUE(files.make_folder("/a/b"));
    std::filesystem::create_symlink(folder.path(), in("a/b/out"));
    std::filesystem::create_symlink("../../..", in("a/b/up"));
    EXPECT_TRUE(files.remove("/a", true));
    EXPECT_FALSE(std::filesystem::exists(in("a")));
    EXPECT_EQ(content_of(folder / "canary.txt"), "canary");
}

TEST_F(VfsFilesTest, RemovesTreesDeeperThanThereAreDescriptors) {
    ASSERT_TRUE(open().make_folder("/deep"));
    // Built by descriptor: no path to the bottom would fit into a system call.
    protocol::UniqueFd folder_fd(::open(in("deep").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < 400; ++i) {
        ASSERT_EQ(mkdirat(folder_fd.get(), "d", 0755), 0);
        folder_fd.reset(openat(folder_fd.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit few{200, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    const auto removed = open().remove("/deep", true);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_TRUE(removed) << removed.error().describe();
    EXPECT_FALSE(std::filesystem::exists(in("deep")));
}

}  // namespace
}  // namespace host::storage
