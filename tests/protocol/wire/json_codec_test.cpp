#include "protocol/wire/json_codec.hpp"

#include "protocol/wire/limits.hpp"
#include "protocol/wire/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace protocol {

// Every type the codec knows, and names that differ in camel case.
struct CodecInner {
    CodecInner() = default;
    std::string first_name;
    std::optional<std::uint8_t> small;
};
BOOST_DESCRIBE_STRUCT(CodecInner, (), (first_name, small))

struct CodecSample {
    CodecSample() = default;
    bool is_on = false;
    std::int32_t number{};
    std::uint64_t large{};
    std::optional<std::string> maybe_text;
    std::vector<CodecInner> many_things;
    std::optional<CodecInner> one;
    boost::json::value anything;
};
BOOST_DESCRIBE_STRUCT(CodecSample, (),
                      (is_on, number, large, maybe_text, many_things, one, anything))

namespace {

using testing::HasSubstr;

constexpr std::string_view complete = R"({"is_on":true,"number":-5,"large":18446744073709551615,
    "many_things":[{"first_name":"a"},{"first_name":"b","small":255}],"anything":[1,{"x":null}]})";

std::string with(std::string_view from, std::string_view to) {
    std::string text(complete);
    return text.replace(text.find(from), from.size(), to);
}

template <typename T = CodecSample>
std::string wrong(std::string_view text, UnknownMembers unknown = UnknownMembers::ignore,
                  Naming naming = Naming::as_written) {
    const auto read = from_json<T>(parse_json(text).value(), unknown, naming);
    if (read) return "nothing";
    EXPECT_EQ(read.error().kind(), Kind::invalid_argument);
    return read.error().message();
}

TEST(JsonCodec, ReadsEveryType) {
    const auto sample = from_json<CodecSample>(parse_json(complete).value()).value();
    EXPECT_TRUE(sample.is_on);
    EXPECT_EQ(sample.number, -5);
    EXPECT_EQ(sample.large, UINT64_MAX);
    EXPECT_FALSE(sample.maybe_text);
    EXPECT_FALSE(sample.one);
    ASSERT_EQ(sample.many_things.size(), 2u);
    EXPECT_EQ(sample.many_things[1].small, 255);
    EXPECT_EQ(boost::json::serialize(sample.anything), R"([1,{"x":null}])");
}

TEST(JsonCodec, WritesWhatItReads) {
    const auto sample = from_json<CodecSample>(parse_json(complete).value()).value();
    for (const Naming naming : {Naming::as_written, Naming::camel_case}) {
        const std::string text = boost::json::serialize(to_json(sample, naming));
        const auto again =
            from_json<CodecSample>(parse_json(text).value(), UnknownMembers::refuse, naming);
        ASSERT_TRUE(again) << again.error().message();
        EXPECT_EQ(boost::json::serialize(to_json(*again, naming)), text);
    }
}

TEST(JsonCodec, LeavesOutAbsentOptionals) {
    const auto text = boost::json::serialize(to_json(CodecSample()));
    EXPECT_THAT(text, testing::Not(HasSubstr("maybe_text")));
    EXPECT_THAT(text, testing::Not(HasSubstr("one")));
}

TEST(JsonCodec, TreatsNullAsAbsent) {
    EXPECT_EQ(wrong(with("\"is_on\"", "\"maybe_text\":null,\"one\":null,\"is_on\"")), "nothing");
}

TEST(JsonCodec, IgnoresUnknownMembersUnlessToldToRefuse) {
    const std::string text = with("\"first_name\":\"b\"", "\"first_name\":\"b\",\"newer\":1");
    EXPECT_EQ(wrong(text), "nothing");
    EXPECT_EQ(wrong(text, UnknownMembers::refuse), "$.many_things[1].newer: unknown member");
}

TEST(JsonCodec, NamesThePathOfWhatIsWrong) {
    EXPECT_EQ(wrong(with("\"first_name\":\"b\",", "")), "$.many_things[1].first_name: missing");
    EXPECT_EQ(wrong(with("-5", "\"5\"")), "$.number: expected an integer, found a string");
    EXPECT_EQ(wrong(with("-5", "5.0")), "$.number: expected an integer, found a fraction");
    EXPECT_EQ(wrong(with("true", "1")), "$.is_on: expected true or false, found an integer");
    EXPECT_EQ(wrong(with("[1,{\"x\":null}]", "null")), "nothing");
    EXPECT_EQ(wrong(with("255", "256")),
              "$.many_things[1].small: expected an integer from 0 to 255");
    EXPECT_EQ(wrong(with("255", "-1")),
              "$.many_things[1].small: expected an integer from 0 to 255");
    EXPECT_EQ(wrong(with("-5", "2147483648")),
              "$.number: expected an integer from -2147483648 to 2147483647");
    EXPECT_EQ(wrong("[]"), "$: expected an object, found an array");
}

TEST(JsonCodec, MapsNamesToCamelCase) {
    EXPECT_EQ(wrong<CodecInner>(R"({"firstName":"x"})", UnknownMembers::refuse, Naming::camel_case),
              "nothing");
    EXPECT_EQ(
        wrong<CodecInner>(R"({"first_name":"x"})", UnknownMembers::refuse, Naming::camel_case),
        "$.firstName: missing");
}

TEST(JsonCodec, EscapesTextThatIsNotUtf8) {
    CodecInner inner;
    inner.first_name = "a\xFF";
    EXPECT_EQ(boost::json::serialize(to_json(inner)), R"({"first_name":"a\\xFF"})");
}

TEST(ParseJson, RefusesWithPlaceAndReason) {
    const auto refusal = [](std::string_view text) {
        const auto parsed = parse_json(text);
        return parsed ? "accepted" : parsed.error().message();
    };
    EXPECT_THAT(refusal(R"({"a":1,"b":{"c":1,"c":2}})"), HasSubstr("member \"c\" is repeated"));
    EXPECT_THAT(refusal(R"({"a\u0062":1,"ab":2})"), HasSubstr("member \"ab\" is repeated"));
    EXPECT_EQ(refusal(R"([{"a":1},{"a":1},{"b":{"a":1}}])"), "accepted");
    EXPECT_THAT(refusal("{} {}"), HasSubstr("extra data, at byte 3"));
    EXPECT_THAT(refusal("{\"a\":"), HasSubstr("incomplete"));
    EXPECT_THAT(refusal(""), HasSubstr("incomplete"));
    EXPECT_THAT(refusal("{'a':1}"), HasSubstr("syntax error"));
    EXPECT_THAT(refusal("{\"a\":1,}"), HasSubstr("not valid JSON"));
    EXPECT_THAT(refusal("{\"a\":\"\xFF\"}"), HasSubstr("not valid JSON"));
    EXPECT_THAT(refusal("{\"a\":\"\xED\xA0\x80\"}"), HasSubstr("not valid JSON"));
    EXPECT_THAT(refusal("{\"a\":\"\\ud800\"}"), HasSubstr("not valid JSON"));
    EXPECT_THAT(refusal("{\"a\":\"\n\"}"), HasSubstr("not valid JSON"));
}

TEST(ParseJson, LimitsTheDepth) {
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    EXPECT_TRUE(parse_json(nested(limits::json_depth)));
    EXPECT_FALSE(parse_json(nested(limits::json_depth + 1)));
    EXPECT_FALSE(parse_json(std::string(100'000, '[')));
}

TEST(ParseJson, KeepsANulInsideAString) {
    EXPECT_EQ(parse_json("\"a\\u0000b\"").value().as_string(), std::string_view("a\0b", 3));
}

TEST(EndPayload, CarriesAnAnswerOrAFailure) {
    InputTaken taken;
    taken.offset = 7;
    EXPECT_EQ(decode_end<InputTaken>(encode_end(taken)).value().offset, 7u);

    const auto failed =
        decode_end<InputTaken>(encode_end_failure(Failure(Kind::not_found, "no such command")));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind(), Kind::not_found);
    EXPECT_EQ(failed.error().message(), "no such command");
}

TEST(EndPayload, UnderstandsAFailureOfAKindItDoesNotKnow) {
    const auto failed = decode_end<Done>(
        R"({"failure":{"kind":"from_the_future","message":"m","error_number":0}})");
    EXPECT_EQ(failed.error().kind(), Kind::internal);
}

TEST(EndPayload, IsAViolationWithoutEither) {
    EXPECT_EQ(decode_end<Done>("{}").error().kind(), Kind::protocol_violation);
    EXPECT_EQ(decode_end<Done>("nonsense").error().kind(), Kind::protocol_violation);
}

TEST(NamedMessage, GivesNameAndBody) {
    CommandReference reference;
    reference.id = "x";
    const auto message = decode_named(encode_request("command.state", reference), "operation");
    ASSERT_TRUE(message);
    EXPECT_EQ(message->name, "command.state");
    EXPECT_EQ(from_json<CommandReference>(message->body).value().id, "x");
    EXPECT_FALSE(decode_named(R"({"operation":1})", "operation"));
    EXPECT_FALSE(decode_named(R"({"event":"x"})", "operation"));
}

}  // namespace
}  // namespace protocol
