#include "host/storage/image_catalogue.hpp"

#include "protocol/base/unique_fd.hpp"
#include "temporary_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace host::storage {
namespace {

using protocol::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ImageCatalogueTest : public ::testing::Test {
  protected:
    ImageCatalogueTest() {
        part("kernel-1", "kernel", R"("kind":"kernel","id":"kernel-1")", "vmlinux");
        part("initrd-1", "initrd", R"("kind":"initrd","id":"initrd-1","kernel":"kernel-1")",
             "initrd.cpio");
        part(
            "base-1", "base",
            R"("kind":"disk","id":"base-1","disk":{"file":"disk.qcow2","virtualSize":4294967296,"more":1},"packages":[])",
            "disk.qcow2");
    }
    void part(const std::string& name, const std::string& link, const std::string& members,
              const std::string& file) {
        std::filesystem::create_directories(folder / name);
        put_file(folder / name + "/manifest.json", R"({"formatVersion":1,)" + members + "}");
        put_file(folder / name + "/" + file, "x");
        std::filesystem::remove(folder / link);
        std::filesystem::create_symlink(name, folder / link);
    }

    void disk(const std::string& version, const std::string& created) {
        std::filesystem::create_directories(folder / version);
        put_file(folder / version + "/manifest.json",
                 R"({"formatVersion":1,"kind":"disk","id":")" + version + R"(","created":")" +
                     created +
                     R"(","disk":{"file":"disk.qcow2","virtualSize":4096},"packages":)"
                     R"([{"name":"git","version":"1:2"}],"archives":[{"name":"node","what":"n@22",)"
                     R"("version":"22.1.0","sha512":"x"}],"missing":[{"name":"dotnet",)"
                     R"("what":".NET 8","reason":"out of reach"}]})");
        put_file(folder / version + "/disk.qcow2", "x");
    }
    void link(const std::string& name, const std::string& version) {
        std::filesystem::remove(folder / name);
        std::filesystem::create_symlink(version, folder / name);
    }

    TemporaryFolder folder;
    ImageCatalogue catalogue{folder.path()};
};

TEST_F(ImageCatalogueTest, ResolvesToRealPaths) {
    const auto image = catalogue.find("");
    ASSERT_TRUE(image) << image.error().describe();
    EXPECT_EQ(image->name, "base");
    EXPECT_EQ(image->version, "base-1");
    EXPECT_EQ(image->kernel.value, folder / "kernel-1/vmlinux");
    EXPECT_EQ(image->initrd.value, folder / "initrd-1/initrd.cpio");
    EXPECT_EQ(image->base_disk.value, folder / "base-1/disk.qcow2");
    EXPECT_EQ(image->manifest.value, folder / "base-1/manifest.json");
    EXPECT_EQ(image->disk_bytes, 4'294'967'296u);
}

TEST_F(ImageCatalogueTest, SaysHowToBuildWhatIsMissing) {
    const auto image = catalogue.find("studio");
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().kind(), Kind::not_found);
    EXPECT_THAT(image.error().message(), HasSubstr("mt image build studio"));
}

TEST_F(ImageCatalogueTest, RefusesAnInitrdOfAnotherKernel) {
    part("kernel-2", "kernel", R"("kind":"kernel","id":"kernel-2")", "vmlinux");
    EXPECT_EQ(catalogue.find("").error().kind(), Kind::conflict);
}

TEST_F(ImageCatalogueTest, RefusesNamesThatAreNotImages) {
    for (const auto* name : {"../etc", "kernel", "initrd", "a/b", ".", "Base"}) {
        EXPECT_EQ(catalogue.find(name).error().kind(), Kind::invalid_argument) << name;
    }
}

TEST_F(ImageCatalogueTest, RefusesAManifestOfAnotherFormat) {
    put_file(folder / "base-1/manifest.json", R"({"formatVersion":2,"kind":"disk","id":"base-1"})");
    EXPECT_EQ(catalogue.find("").error().kind(), Kind::unsupported);
    put_file(folder / "base-1/manifest.json", "{");
    EXPECT_THAT(catalogue.find("").error().describe(), HasSubstr("base-1/manifest.json"));
}

TEST_F(ImageCatalogueTest, TellsWhatItsFilesShouldBe) {
    put_file(
        folder / "base-1/manifest.json",
        R"({"formatVersion":1,"kind":"disk","id":"base-1","disk":{"file":"disk.qcow2","virtualSize":9,"size":1,"sha256":"ab"}})");
    put_file(
        folder / "kernel-1/manifest.json",
        R"({"formatVersion":1,"kind":"kernel","id":"kernel-1","files":[{"file":"vmlinux","size":1,"sha256":"cd"}]})");
    const auto image = catalogue.find("base");
    ASSERT_TRUE(image) << image.error().describe();
    ASSERT_EQ(image->files.size(), 3u);
    EXPECT_EQ(image->files[0].sha256, "cd");
    EXPECT_EQ(image->files[0].path.value, folder / "kernel-1/vmlinux");
    EXPECT_EQ(image->files[1].sha256, "") << "its manifest does not say";
    EXPECT_EQ(image->files[2].sha256, "ab");
    EXPECT_EQ(image->files[2].size, 1u);
}

TEST_F(ImageCatalogueTest, FullIsTheStandardImageOnceItIsThere) {
    EXPECT_EQ(catalogue.standard(), "base");
    disk("full-aaaaaaaaaaaa", "2026-01-01T00:00:00Z");
    link("full", "full-aaaaaaaaaaaa");
    EXPECT_EQ(catalogue.standard(), "full");
    EXPECT_EQ(catalogue.find("")->version, "full-aaaaaaaaaaaa");
    EXPECT_EQ(ImageCatalogue(folder.path(), "base").find("")->version, "base-1");
}

TEST_F(ImageCatalogueTest, ListsVersionsNewestFirst) {
    disk("full-aaaaaaaaaaaa", "2026-01-01T00:00:00Z");
    disk("full-bbbbbbbbbbbb", "2026-03-01T00:00:00Z");
    disk("base-cccccccccccc", "2026-02-01T00:00:00Z");
    link("full", "full-aaaaaaaaaaaa");
    std::filesystem::create_directories(folder / "full-dddddddddddd");
    const auto images = catalogue.list();
    ASSERT_TRUE(images) << images.error().describe();
    std::vector<std::string> seen;
    for (const auto& image : *images) {
        seen.push_back(image.version + (image.current ? " current" : "") +
                       (image.standard ? " standard" : "") + (image.problem.empty() ? "" : " ?"));
    }
    EXPECT_THAT(seen, ElementsAre("base-cccccccccccc", "full-bbbbbbbbbbbb",
                                  "full-aaaaaaaaaaaa current standard", "full-dddddddddddd ?"));
    EXPECT_EQ(images->at(1).disk_bytes, 4'096u);
    EXPECT_TRUE(images->at(1).packages.empty());
}

TEST_F(ImageCatalogueTest, DescribesWithPackagesAndWhatIsMissing) {
    disk("full-aaaaaaaaaaaa", "2026-01-01T00:00:00Z");
    link("full", "full-aaaaaaaaaaaa");
    for (const auto* name : {"full", "full-aaaaaaaaaaaa"}) {
        const auto image = catalogue.describe(name);
        ASSERT_TRUE(image) << image.error().describe();
        EXPECT_EQ(image->version, "full-aaaaaaaaaaaa");
        EXPECT_EQ(image->name, "full");
        EXPECT_TRUE(image->current);
        EXPECT_EQ(image->packages.at(0).name, "git");
        EXPECT_EQ(image->archives.at(0).version, "22.1.0");
        EXPECT_EQ(image->missing.at(0).reason, "out of reach");
    }
}

TEST_F(ImageCatalogueTest, RemovesOneVersionAndKeepsTheNameIfAnotherIsLeft) {
    disk("full-aaaaaaaaaaaa", "2026-01-01T00:00:00Z");
    disk("full-bbbbbbbbbbbb", "2026-03-01T00:00:00Z");
    disk("full-eeeeeeeeeeee", "2026-02-01T00:00:00Z");
    link("full", "full-bbbbbbbbbbbb");
    std::filesystem::create_directories(folder / ".removing-full-bbbbbbbbbbbb/left");
    ASSERT_TRUE(catalogue.remove("full-bbbbbbbbbbbb"));
    EXPECT_FALSE(std::filesystem::exists(folder / "full-bbbbbbbbbbbb"));
    EXPECT_FALSE(std::filesystem::exists(folder / ".removing-full-bbbbbbbbbbbb"));
    EXPECT_EQ(catalogue.find("full")->version, "full-eeeeeeeeeeee");
    ASSERT_TRUE(catalogue.remove("full-aaaaaaaaaaaa"));
    EXPECT_EQ(catalogue.find("full")->version, "full-eeeeeeeeeeee");
    ASSERT_TRUE(catalogue.remove("full-eeeeeeeeeeee"));
    EXPECT_EQ(catalogue.find("full").error().kind(), Kind::not_found);
}

TEST_F(ImageCatalogueTest, RemovesNothingElse) {
    for (const auto* name : {"full-aaaaaaaaaaaa", "full", "base", "base-1", "kernel-1", "..",
                             "../images", "kernel-aaaaaaaaaaaa", "-aaaaaaaaaaaa"}) {
        const auto refused = catalogue.remove(name);
        ASSERT_FALSE(refused) << name;
        EXPECT_EQ(refused.error().code(), "not-found") << name;
    }
}

TEST_F(ImageCatalogueTest, DoesNotRemoveWhatIsBeingBuilt) {
    disk("full-aaaaaaaaaaaa", "2026-01-01T00:00:00Z");
    const protocol::UniqueFd build(
        ::open((folder / ".lock-full").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    ASSERT_EQ(::flock(build.get(), LOCK_EX), 0);
    EXPECT_EQ(catalogue.remove("full-aaaaaaaaaaaa").error().code(), "in-use");
    EXPECT_TRUE(std::filesystem::exists(folder / "full-aaaaaaaaaaaa/disk.qcow2"));
}

TEST_F(ImageCatalogueTest, NamesAFileThatIsGone) {
    std::filesystem::remove(folder / "base-1/disk.qcow2");
    EXPECT_THAT(catalogue.find("").error().message(), HasSubstr("disk.qcow2 is missing"));
}

}  // namespace
}  // namespace host::storage
