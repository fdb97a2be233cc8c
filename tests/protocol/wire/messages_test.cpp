#include "protocol/wire/messages.hpp"

#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/limits.hpp"

#include <gtest/gtest.h>

namespace protocol {
namespace {

Hello speaking(int from, int to) {
    Hello hello;
    hello.generation_min = from;
    hello.generation_max = to;
    return hello;
}

TEST(Hello, AgreesOnTheNewestCommonGeneration) {
    EXPECT_EQ(agree_on_generation(speaking(1, 3), speaking(2, 5)).value(), 3);
    EXPECT_EQ(agree_on_generation(speaking(1, 1), speaking(1, 9)).value(), 1);
    EXPECT_EQ(agree_on_generation(speaking(3, 4), speaking(1, 2)).error().kind(),
              Kind::unsupported);
    EXPECT_FALSE(agree_on_generation(speaking(1, 2), speaking(3, 4)));
}

TEST(CommandReport, FitsOneFrameWhateverTheOutputs) {
    // The worst characters: a NUL takes one byte in memory and six in JSON.
    CommandReport report;
    report.id = std::string(36, 'x');
    report.output.window = std::string(limits::output_window_characters, '\0');
    report.error.window = report.output.window;
    EXPECT_LE(encode_end(report).size(), limits::control_payload_bytes);
    EXPECT_LE(encode_event("exited", report).size(), limits::control_payload_bytes);
}

}  // namespace
}  // namespace protocol
