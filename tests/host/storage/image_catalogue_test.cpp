#include "host/storage/image_catalogue.hpp"

#include "temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace host::storage {
namespace {

using protocol::Kind;
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
    EXPECT_THAT(image.error().message(), HasSubstr("images/build.sh studio"));
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

TEST_F(ImageCatalogueTest, NamesAFileThatIsGone) {
    std::filesystem::remove(folder / "base-1/disk.qcow2");
    EXPECT_THAT(catalogue.find("").error().message(), HasSubstr("disk.qcow2 is missing"));
}

}  // namespace
}  // namespace host::storage
