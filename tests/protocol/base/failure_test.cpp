#include "protocol/base/failure.hpp"

#include "protocol/base/result.hpp"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace protocol {
namespace {

Result<int> half(int number) {
    if (number % 2 != 0) return fail(Kind::invalid_argument, "odd");
    return number / 2;
}

Result<int> quarter(int number) {
    TRY(const int halved, half(number));
    TRY(const int quartered, half(halved));
    return quartered;
}

Result<void> check(int number) {
    TRY_VOID(quarter(number));
    return {};
}

TEST(Failure, DescribesContextFromTheOutsideIn) {
    Failure failure(Kind::not_found, "no such run");
    failure.context("stop").context("request");
    EXPECT_EQ(failure.describe(), "request: stop: no such run");
}

TEST(Failure, KeepsTheSystemsReason) {
    const Failure failure = Failure::from_errno("open /x", ENOENT);
    EXPECT_EQ(failure.kind(), Kind::io);
    EXPECT_EQ(failure.cause(), std::errc::no_such_file_or_directory);
    EXPECT_EQ(failure.describe(), "open /x (No such file or directory)");
}

TEST(Failure, IsOneLine) {
    EXPECT_EQ(Failure(Kind::io, "a\nb").describe(), "a b");
}

TEST(Failure, CarriesACodeOnlyWhenGivenOne) {
    EXPECT_EQ(Failure(Kind::conflict, "x").code(), "");
    EXPECT_EQ(Failure::with_code(Kind::conflict, "run-ended", "x").code(), "run-ended");
}

TEST(Kind, NamesAreReadBack) {
    for (int number = 0; number <= static_cast<int>(Kind::internal); ++number) {
        const Kind kind{static_cast<std::uint8_t>(number)};
        EXPECT_EQ(kind_from_string(to_string(kind)), kind);
    }
    EXPECT_EQ(kind_from_string("something_newer"), std::nullopt);
}

TEST(Result, TryReturnsTheFirstFailure) {
    EXPECT_EQ(quarter(8).value(), 2);
    EXPECT_EQ(quarter(6).error().message(), "odd");
    EXPECT_TRUE(check(8));
    EXPECT_FALSE(check(7));
}

}  // namespace
}  // namespace protocol
