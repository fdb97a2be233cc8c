#include "host/egress/package_sources.hpp"

#include <fstream>
#include <stdlib.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace host::egress {
namespace {

class Manifest : public testing::Test {
  protected:
    Result<std::vector<PackageSource>> read(const std::string& text) {
        std::ofstream(path_) << text;
        return sources_of_manifest(path_);
    }
    void SetUp() override {
        char name[] = "/tmp/manifest-test-XXXXXX";
        ::close(::mkstemp(name));
        path_ = name;
    }
    void TearDown() override { ::unlink(path_.c_str()); }
    std::string path_;
};

TEST_F(Manifest, NamesItsSourcesOnce) {
    const auto sources = read(R"({"formatVersion":1,"name":"base","files":[],"aptSources":[
        {"scheme":"http","host":"mirror.example","port":80,"path":"/debian/","suite":"bookworm","components":["main"]},
        {"scheme":"http","host":"mirror.example","port":80,"path":"/debian/","suite":"bookworm-updates","components":["main"]},
        {"scheme":"http","host":"mirror.example","port":80,"path":"/debian-security/","suite":"x","components":["main"]}]})");
    ASSERT_TRUE(sources) << sources.error().describe();
    ASSERT_EQ(sources->size(), 2u);
    EXPECT_EQ(sources->at(0).path, "/debian/");
    EXPECT_EQ(sources->at(1).path, "/debian-security/");
}

TEST_F(Manifest, MayHaveNone) {
    EXPECT_TRUE(read(R"({"kind":"disk"})").value().empty());
    EXPECT_TRUE(read(R"({"aptSources":[]})").value().empty());
}

TEST_F(Manifest, IsRefusedWhenItsSourcesAreNone) {
    EXPECT_FALSE(read("no json"));
    EXPECT_FALSE(read(R"({"aptSources":[{"scheme":"cdrom","host":"x","port":80,"path":"/"}]})"));
    EXPECT_FALSE(read(R"({"aptSources":[{"scheme":"http","host":"u@x","port":80,"path":"/"}]})"));
    EXPECT_FALSE(sources_of_manifest("/nonexistent/manifest.json"));
}

TEST(PolicyOf, AddsTheOperatorsSources) {
    model::Network network;
    const auto policy = policy_of(network, {parse_source("http://a.example/x/").value()},
                                  {parse_source("http://b.example/y/").value()});
    EXPECT_EQ(policy.network.mode, "packages");
    ASSERT_EQ(policy.sources.size(), 2u);
    EXPECT_EQ(policy.sources[1].host, "b.example");
}

}  // namespace
}  // namespace host::egress
