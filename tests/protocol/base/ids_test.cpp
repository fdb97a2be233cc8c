#include "protocol/base/ids.hpp"

#include <unordered_set>

#include <gtest/gtest.h>

namespace protocol {
namespace {

TEST(Uuid, AcceptsItsOwnText) {
    const RunId id = RunId::random();
    EXPECT_EQ(RunId::parse(id.str()).value(), id);
    EXPECT_EQ(id.str()[14], '4');  // version
}

TEST(Uuid, RefusesOtherShapes) {
    for (const char* text :
         {"", "0189c6a2-7b1e-4c3d-8e5f-0123456789a", "0189C6A2-7B1E-4C3D-8E5F-0123456789AB",
          "0189c6a2-7b1e-4c3d-8e5f-0123456789ab ", "0189c6a27b1e4c3d8e5f0123456789ab0000",
          "../../../../../../../../etc/passwd--", "{189c6a2-7b1e-4c3d-8e5f-0123456789ab"}) {
        EXPECT_FALSE(CommandId::parse(text)) << text;
    }
}

TEST(Uuid, IsDifferentEachTime) {
    std::unordered_set<CommandId> seen;
    for (int i = 0; i < 1000; ++i) seen.insert(CommandId::random());
    EXPECT_EQ(seen.size(), 1000u);
}

}  // namespace
}  // namespace protocol
