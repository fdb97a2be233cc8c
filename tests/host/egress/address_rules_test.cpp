#include "host/egress/address_rules.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace host::egress {
namespace {

Address address(std::string_view text) {
    return boost::asio::ip::make_address(text);
}

class NotPublic : public testing::TestWithParam<const char*> {};

TEST_P(NotPublic, IsRefusedWithAReason) {
    const auto why = why_not_public(address(GetParam()));
    ASSERT_TRUE(why) << GetParam();
    EXPECT_FALSE(why->empty());
    EXPECT_TRUE(AddressRules({}).refuse(address(GetParam()), {}));
}

INSTANTIATE_TEST_SUITE_P(
    AddressRules, NotPublic,
    testing::Values("0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1",
                    "100.127.255.255", "127.0.0.1", "127.255.255.254", "169.254.169.254",
                    "169.254.0.1", "172.16.0.1", "172.31.255.255", "192.0.0.170", "192.0.2.1",
                    "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1",
                    "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
                    "255.255.255.255",  //
                    "::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1",
                    "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "100::1", "2001::1",
                    "2001:0:7f00:1::", "2001:db8::1", "2001:20::1", "2002:7f00:1::1",
                    "2002:808:808::1", "3fff::1", "4000::1", "fc00::1", "fd00::2", "fe80::1",
                    "fec0::1", "ff02::1", "ff0e::1", "5f00::1"));

class Public : public testing::TestWithParam<const char*> {};

TEST_P(Public, IsNotRefused) {
    EXPECT_FALSE(why_not_public(address(GetParam()))) << GetParam();
    EXPECT_FALSE(AddressRules({}).refuse(address(GetParam()), {}));
}

INSTANTIATE_TEST_SUITE_P(AddressRules, Public,
                         testing::Values("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0",
                                         "100.63.255.255", "100.128.0.0", "126.255.255.255",
                                         "128.0.0.1", "172.15.255.255", "172.32.0.0", "192.0.1.1",
                                         "192.167.255.255", "192.169.0.0", "223.255.255.255",
                                         "2001:4860:4860::8888", "2606:4700::1111", "2a00:1450::1",
                                         "2003::1"));

TEST(AddressRules, RefusesTheHostsOwnAddressesAndNeighbours) {
    const std::vector<OwnAddress> own = {{address("93.184.216.34"), 24},
                                         {address("2a00:1::5"), 64}};
    const AddressRules rules({});
    EXPECT_EQ(rules.refuse(address("93.184.216.34"), own), "an address of this host");
    EXPECT_EQ(rules.refuse(address("2a00:1::5"), own), "an address of this host");
    EXPECT_EQ(rules.refuse(address("93.184.216.1"), own), "an address in this host's own network");
    EXPECT_EQ(rules.refuse(address("2a00:1::ffff"), own), "an address in this host's own network");
    EXPECT_FALSE(rules.refuse(address("93.184.217.1"), own));
    EXPECT_FALSE(rules.refuse(address("2a00:1:0:1::5"), own));
}

TEST(AddressRules, WideMasksMakeNoNeighbours) {
    const std::vector<OwnAddress> own = {{address("93.184.216.34"), 8}, {address("94.1.1.1"), 0}};
    EXPECT_FALSE(AddressRules({}).refuse(address("93.1.1.1"), own));
    EXPECT_FALSE(AddressRules({}).refuse(address("8.8.8.8"), own));
}

TEST(AddressRules, AnOperatorsRangeOpensExactlyItself) {
    const AddressRules rules({AddressRange::parse("10.1.0.0/16").value()});
    EXPECT_FALSE(rules.refuse(address("10.1.2.3"), {}));
    EXPECT_TRUE(rules.refuse(address("10.2.0.1"), {}));
    // Another spelling of an allowed address is another address.
    EXPECT_TRUE(rules.refuse(address("::ffff:10.1.2.3"), {}));
    EXPECT_TRUE(rules.refuse(address("2002:a01:203::1"), {}));
}

TEST(AddressRange, ReadsWhatOperatorsWrite) {
    EXPECT_TRUE(AddressRange::parse("192.0.2.7").value().contains(address("192.0.2.7")));
    EXPECT_FALSE(AddressRange::parse("192.0.2.7").value().contains(address("192.0.2.8")));
    EXPECT_TRUE(AddressRange::parse("0.0.0.0/0").value().contains(address("8.8.8.8")));
    EXPECT_TRUE(AddressRange::parse("10.0.0.0/9").value().contains(address("10.127.0.0")));
    EXPECT_FALSE(AddressRange::parse("10.0.0.0/9").value().contains(address("10.128.0.0")));
    EXPECT_TRUE(AddressRange::parse("fd00::/8").value().contains(address("fd12::1")));
    for (const char* wrong : {"", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8x",
                              "::/129", "example.org", "10/8"}) {
        EXPECT_FALSE(AddressRange::parse(wrong)) << wrong;
    }
}

TEST(OwnAddresses, HaveLoopbackAmongThem) {
    const auto own = own_addresses();
    const auto loopback = std::find_if(own.begin(), own.end(), [](const OwnAddress& mine) {
        return mine.address == address("127.0.0.1");
    });
    ASSERT_NE(loopback, own.end());
    EXPECT_EQ(loopback->prefix, 8u);
}

}  // namespace
}  // namespace host::egress
