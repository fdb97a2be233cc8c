#include "host/api/problem.hpp"

#include <cerrno>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

namespace host::api {
namespace {

using protocol::Failure;
using protocol::Kind;

TEST(Problem, EveryKindHasAStatus) {
    const std::pair<Kind, unsigned> expected[] = {
        {Kind::invalid_argument, 400},
        {Kind::unauthenticated, 401},
        {Kind::forbidden, 403},
        {Kind::not_found, 404},
        {Kind::conflict, 409},
        {Kind::too_large, 413},
        {Kind::resource_exhausted, 503},
        {Kind::unavailable, 503},
        {Kind::timed_out, 504},
        {Kind::protocol_violation, 502},
        {Kind::io, 500},
        {Kind::unsupported, 501},
        {Kind::internal, 500},
    };
    for (const auto& [kind, status] : expected)
        EXPECT_EQ(problem_of(Failure(kind, "x")).status, status);
}

TEST(Problem, CodesDecideBeforeKinds) {
    EXPECT_EQ(problem_of(Failure::with_code(Kind::not_found, "image-missing", "x")).status, 503u);
    EXPECT_EQ(problem_of(Failure::with_code(Kind::conflict, "run-ended", "x")).code, "run-ended");
}

TEST(Problem, AFullDiskIsItsOwnCode) {
    EXPECT_EQ(problem_of(Failure::from_errno("write", ENOSPC)).code, "disk-full");
    EXPECT_EQ(problem_of(Failure::from_errno("write", EDQUOT)).status, 507u);
    EXPECT_EQ(problem_of(Failure::from_errno("write", EIO)).code, "io");
}

TEST(Problem, IsADocumentOfRfc9457) {
    const Response response =
        problem(Failure::with_code(Kind::conflict, "in-use", "VFS \"a\" is mounted\xFF"));
    EXPECT_EQ(response.status, 409u);
    EXPECT_EQ(response.fields.front().second, "application/problem+json");
    const auto body = boost::json::parse(response.body).as_object();
    EXPECT_EQ(body.at("type").as_string(), "urn:capsule:problem:in-use");
    EXPECT_EQ(body.at("code").as_string(), "in-use");
    EXPECT_EQ(body.at("status").as_int64(), 409);
    EXPECT_EQ(body.at("detail").as_string(), "VFS \"a\" is mounted\xEF\xBF\xBD");
    EXPECT_FALSE(body.at("title").as_string().empty());
}

TEST(Problem, KeepsACodeItDoesNotKnow) {
    const Response response = problem(Failure::with_code(Kind::conflict, "something-new", "x"));
    EXPECT_EQ(response.status, 409u);
    EXPECT_EQ(boost::json::parse(response.body).as_object().at("code").as_string(),
              "something-new");
}

TEST(Problem, CodesAreUnique) {
    for (const auto& entry : problem_codes()) {
        EXPECT_EQ(find_problem(entry.code), &entry);
        EXPECT_GE(entry.status, 400u);
    }
}

}  // namespace
}  // namespace host::api
