#include "host/machine/probe_cache.hpp"

#include <filesystem>
#include <fstream>
#include <stdlib.h>

#include <gtest/gtest.h>

namespace host::machine {
namespace {

class ProbeCacheTest : public ::testing::Test {
  protected:
    ProbeCacheTest() {
        if (mkdtemp(folder.data()) == nullptr) folder.clear();
        std::ofstream(kernel()) << "kernel";
        std::ofstream(initrd()) << "initrd";
    }
    ~ProbeCacheTest() override {
        std::error_code error;
        if (!folder.empty()) std::filesystem::remove_all(folder, error);
    }
    std::string kernel() const { return folder + "/vmlinux"; }
    std::string initrd() const { return folder + "/initrd"; }
    std::string file() const { return folder + "/probe.json"; }
    ProbeCache cache() const { return {file(), kernel(), initrd()}; }
    static KvmProbe works() {
        KvmProbe probe;
        probe.works = true;
        probe.finding = "booted";
        return probe;
    }

    std::string folder = "/tmp/probe-cache-XXXXXX";
};

TEST_F(ProbeCacheTest, KeepsAResult) {
    EXPECT_FALSE(cache().read());
    cache().write(works());
    const auto found = cache().read();
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->works);
    EXPECT_EQ(found->finding, "booted");
}

TEST_F(ProbeCacheTest, ForgetsWhenTheKernelIsReplaced) {
    cache().write(works());
    std::ofstream(folder + "/new") << "kernel";
    std::filesystem::rename(folder + "/new", kernel());
    EXPECT_FALSE(cache().read());
}

TEST_F(ProbeCacheTest, ForgetsWhenTheInitrdIsChanged) {
    cache().write(works());
    std::ofstream(initrd(), std::ios::app) << "more";
    EXPECT_FALSE(cache().read());
}

TEST_F(ProbeCacheTest, IgnoresWhatIsNotACache) {
    for (const auto* text : {"", "{", "{}", "[1]", R"({"key":1,"works":true,"finding":""})"}) {
        std::ofstream(file()) << text;
        EXPECT_FALSE(cache().read()) << text;
    }
}

TEST_F(ProbeCacheTest, KeepsNothingWithoutAFile) {
    const ProbeCache none("", kernel(), initrd());
    none.write(works());
    EXPECT_FALSE(none.read());
}

TEST_F(ProbeCacheTest, SurvivesAFolderThatIsNotThere) {
    const ProbeCache lost(folder + "/none/probe.json", kernel(), initrd());
    lost.write(works());
    EXPECT_FALSE(lost.read());
}

}  // namespace
}  // namespace host::machine
