#include "host/api/request_parser.hpp"

#include <gtest/gtest.h>

namespace host::api {
namespace {

// Feeds byte by byte; the worst way for input to arrive.
protocol::Result<bool> feed_head(RequestParser& parser, std::string& rest, std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        rest += text[i];
        auto complete = parser.parse_head(rest);
        if (!complete || *complete) {
            rest += text.substr(i + 1);
            return complete;
        }
    }
    return false;
}

protocol::Result<std::string> whole_body(RequestParser& parser, std::string& rest) {
    std::string body;
    while (!parser.done()) {
        auto piece = parser.parse_body(rest, 5);
        if (!piece) return piece;
        if (piece->empty()) break;
        body += *piece;
    }
    return body;
}

TEST(RequestParser, ReadsAHeadByteByByte) {
    RequestParser parser;
    std::string rest;
    ASSERT_TRUE(feed_head(parser, rest,
                          "PUT /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\nExpect: "
                          "100-Continue\r\n\r\nhello"));
    const auto& head = parser.head();
    EXPECT_EQ(head.method, "PUT");
    EXPECT_EQ(head.target, "/a?b=c");
    EXPECT_EQ(head.content_length, 12u);
    EXPECT_TRUE(head.keep_alive);
    EXPECT_TRUE(head.expects_continue);
    EXPECT_EQ(*head.field("HOST"), "x");
    EXPECT_EQ(head.field("Accept"), nullptr);
    EXPECT_FALSE(parser.done());
    EXPECT_EQ(*whole_body(parser, rest), "hello");
    EXPECT_FALSE(parser.done());
    rest = " world!NEXT";
    EXPECT_EQ(*whole_body(parser, rest), " world!");
    EXPECT_TRUE(parser.done());
    EXPECT_EQ(rest, "NEXT");
}

TEST(RequestParser, ReadsChunksOfAnySize) {
    RequestParser parser;
    std::string rest;
    ASSERT_TRUE(feed_head(parser, rest,
                          "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
    EXPECT_TRUE(parser.head().chunked);
    std::string body;
    for (const char c :
         std::string_view("3\r\nabc\r\n00b;x=y\r\n0123456789A\r\n0\r\nTrailer: z\r\n\r\n")) {
        rest += c;
        const auto piece = parser.parse_body(rest, 4);
        ASSERT_TRUE(piece) << piece.error().describe();
        body += *piece;
    }
    EXPECT_EQ(body, "abc0123456789A");
    EXPECT_TRUE(parser.done());
}

TEST(RequestParser, ARepeatedFieldIsNone) {
    RequestParser parser;
    std::string rest;
    ASSERT_TRUE(feed_head(parser, rest, "GET / HTTP/1.1\r\nX: 1\r\nX: 2\r\n\r\n"));
    EXPECT_EQ(parser.head().field("X"), nullptr);
    EXPECT_TRUE(parser.done());
}

TEST(RequestParser, RefusesWhatIsNotHttp) {
    for (const char* text :
         {"hello\r\n\r\n", "GET / HTTP/3.0\r\n\r\n", "GET /\r\n\r\n",
          "GET / HTTP/1.1\r\nbad field\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
          "POST / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n",
          "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
          "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
          "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
          "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
          "\x16\x03\x01\x02\r\n\r\n"}) {
        RequestParser parser;
        std::string rest;
        EXPECT_FALSE(feed_head(parser, rest, text)) << text;
    }
}

TEST(RequestParser, LimitsTheHead) {
    RequestParser parser;
    std::string rest = "GET / HTTP/1.1\r\nX: " + std::string(20'000, 'a');
    const auto complete = parser.parse_head(rest);
    ASSERT_FALSE(complete);
    EXPECT_EQ(complete.error().code(), "headers-too-large");
}

TEST(RequestParser, RefusesMalformedChunks) {
    RequestParser parser;
    std::string rest;
    ASSERT_TRUE(feed_head(parser, rest, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"));
    rest = "zz\r\nabc";
    EXPECT_FALSE(parser.parse_body(rest, 100));
}

}  // namespace
}  // namespace host::api
