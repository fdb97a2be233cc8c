#include "host/api/router.hpp"

#include "host/api/routes.hpp"

#include <set>

#include <gtest/gtest.h>

namespace host::api {
namespace {

Match find(std::string_view method, std::string_view target) {
    static const Router router(all_routes());
    return router.find(method, *parse_target(target));
}

TEST(Router, FindsRoutesWithTheirSegments) {
    const auto match = find("GET", "/v1/namespaces/team/vfs/data");
    ASSERT_NE(match.route, nullptr);
    EXPECT_EQ(match.route->operation, "getVfs");
    EXPECT_EQ(match.segments.at("ns"), "team");
    EXPECT_EQ(match.segments.at("vfs"), "data");
    EXPECT_FALSE(match.head);
}

TEST(Router, FilesTakeTheRestOfThePath) {
    EXPECT_EQ(find("GET", "/v1/namespaces/a/vfs/b/files").segments.at("path"), "/");
    EXPECT_EQ(find("GET", "/v1/namespaces/a/vfs/b/files/").segments.at("path"), "/");
    EXPECT_EQ(find("PUT", "/v1/namespaces/a/vfs/b/files/x/y%20z/").segments.at("path"), "/x/y z");
}

TEST(Router, HeadIsGetWithoutABody) {
    const auto match = find("HEAD", "/v1/runs");
    ASSERT_NE(match.route, nullptr);
    EXPECT_EQ(match.route->operation, "listRuns");
    EXPECT_TRUE(match.head);
    EXPECT_EQ(find("HEAD", "/v1/namespaces/a/deploy").route, nullptr);
}

TEST(Router, SaysWhatAPathAllows) {
    const auto match = find("DELETE", "/v1/namespaces/a/capsules/b/runs");
    EXPECT_EQ(match.route, nullptr);
    EXPECT_EQ(match.allowed, "POST");
    EXPECT_EQ(find("PATCH", "/v1/keys").allowed, "GET, HEAD, POST");
    EXPECT_EQ(find("GET", "/v2").allowed, "");
    EXPECT_EQ(find("GET", "/").allowed, "");
}

TEST(Router, NoTwoRoutesAreTheSame) {
    std::set<std::string> seen, operations;
    for (const auto& route : all_routes()) {
        EXPECT_TRUE(
            seen.insert(std::string(to_string(route.method)) + " " + std::string(route.path))
                .second)
            << route.path;
        EXPECT_TRUE(operations.emplace(route.operation).second) << route.operation;
    }
}

}  // namespace
}  // namespace host::api
