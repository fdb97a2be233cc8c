#include "sdk/cpp/event_stream.hpp"

#include "tests/sdk/fake_daemon.hpp"

#include <gtest/gtest.h>

namespace {

std::deque<sdk::Event> parse_in_pieces(const std::string& text, std::size_t piece) {
    sdk::EventParser parser;
    std::deque<sdk::Event> events;
    for (std::size_t at = 0; at < text.size(); at += piece) {
        EXPECT_TRUE(parser.feed(std::string_view(text).substr(at, piece), events));
    }
    return events;
}

TEST(EventParser, ReadsEventsFromAnyPieces) {
    const std::string text =
        ": a comment\n\nid: 7\nevent: run.started\ndata: {\"a\":1}\n\n"
        "id:8\r\ndata:first\r\ndata:second\r\n\r\n"
        "event: nothing\n\n"
        "data: inherits the id\n\n";
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        const auto events = parse_in_pieces(text, piece);
        ASSERT_EQ(events.size(), 3u) << piece;
        EXPECT_EQ(events[0].id, "7");
        EXPECT_EQ(events[0].type, "run.started");
        EXPECT_EQ(events[0].data, "{\"a\":1}");
        EXPECT_EQ(events[1].id, "8");
        EXPECT_EQ(events[1].type, "");
        EXPECT_EQ(events[1].data, "first\nsecond");
        EXPECT_EQ(events[2].id, "8");
    }
}

TEST(EventParser, RefusesAnEventWithoutEnd) {
    sdk::EventParser parser;
    std::deque<sdk::Event> events;
    EXPECT_FALSE(parser.feed("data: " + std::string(2u << 20, 'x'), events));
}

TEST(EventStream, ResumesAfterTheLastEvent) {
    fake::FakeDaemon daemon([](fake::Exchange& exchange) {
        const auto last = exchange.headers.find("last-event-id");
        const int from = last == exchange.headers.end() ? 0 : std::stoi(last->second);
        exchange.begin("text/event-stream");
        exchange.chunk("id: " + std::to_string(from + 1) + "\ndata: x\n\n");
    });
    sdk::Settings settings;
    settings.endpoint = sdk::parse_endpoint(daemon.url()).value();
    sdk::EventStream events(settings);
    ASSERT_TRUE(events.open("41"));
    EXPECT_EQ(events.next().value().id, "42");
    const auto lost = events.next();
    ASSERT_FALSE(lost);
    EXPECT_TRUE(sdk::is_connection_failure(lost.error()));
    ASSERT_TRUE(events.open("42"));
    EXPECT_EQ(events.next().value().id, "43");
}

}  // namespace
