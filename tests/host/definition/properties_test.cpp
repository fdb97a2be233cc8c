#include "host/definition/properties.hpp"

#include <gtest/gtest.h>

namespace host::definition {
namespace {

TEST(Properties, SuggestsWhatWasProbablyMeant) {
    const std::vector<std::string_view> names = {"maxDuration", "packages", "autoTerminate", "vfs"};
    EXPECT_EQ(resembling("maxDuraton", names), "maxDuration");
    EXPECT_EQ(resembling("maxduration", names), "maxDuration");
    EXPECT_EQ(resembling("package", names), "packages");
    EXPECT_EQ(resembling("vfss", names), "vfs");
    EXPECT_EQ(resembling("colour", names), std::nullopt);
    EXPECT_EQ(resembling("", names), std::nullopt);
    EXPECT_EQ(resembling(std::string(100'000, 'x'), names), std::nullopt);
}

TEST(Properties, ReportsUnknownAndMissingOnes) {
    Findings findings("f");
    Object object = parse_syntax("tow = 1", findings);
    int seen = 0;
    const std::vector<Property> properties = {
        {"one", [&](const Value&) { ++seen; }, Property::Need::required},
        {"two", [&](const Value&) { ++seen; }},
    };
    read_properties(object, {}, properties, findings);
    EXPECT_EQ(seen, 0);
    const auto list = findings.take();
    ASSERT_EQ(list.size(), 2u);
    EXPECT_EQ(list[0].message, "unknown property 'tow'; did you mean 'two'?");
    EXPECT_EQ(list[1].message, "property 'one' is missing");
}

}  // namespace
}  // namespace host::definition
