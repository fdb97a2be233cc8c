#include "host/libvirt/domain_xml.hpp"

#include <gtest/gtest.h>

namespace host::libvirt {
namespace {

TEST(ParseOwnership, ReadsWhatLibvirtGivesBack) {
    const auto found =
        parse_ownership(R"(<capsule:run xmlns:capsule="https://capsule-host.invalid/xmlns/run/1" )"
                        R"(id="0f0e0d0c-0b0a-4908-8706-050403020100" installation="x"/>)");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->run.str(), "0f0e0d0c-0b0a-4908-8706-050403020100");
    EXPECT_EQ(found->installation, "x");
}

TEST(ParseOwnership, RefusesIdsThatAreNotOurs) {
    EXPECT_FALSE(parse_ownership(R"(<run id="../../etc" installation="x"/>)"));
    EXPECT_FALSE(parse_ownership(R"(<other id="0f0e0d0c-0b0a-4908-8706-050403020100"/>)"));
    EXPECT_FALSE(parse_ownership(""));
    EXPECT_FALSE(parse_ownership("<run"));
}

TEST(ParseCid, ReadsTheAddressThatLibvirtChose) {
    EXPECT_EQ(
        parse_cid("<domain><devices><vsock model='virtio'><cid auto='yes' address='3'/></vsock>"
                  "</devices></domain>"),
        3u);
}

TEST(ParseCid, IsEmptyWithoutAnAddress) {
    EXPECT_EQ(parse_cid("<domain><devices><vsock><cid auto='yes'/></vsock></devices></domain>"),
              std::nullopt);
    EXPECT_EQ(parse_cid("<domain><devices><vsock><cid address='3x'/></vsock></devices></domain>"),
              std::nullopt);
    EXPECT_EQ(parse_cid("<domain/>"), std::nullopt);
    EXPECT_EQ(parse_cid("no XML"), std::nullopt);
}

}  // namespace
}  // namespace host::libvirt
