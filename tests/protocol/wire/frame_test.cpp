#include "protocol/wire/frame.hpp"

#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace protocol {
namespace {

Frame data_frame(std::uint32_t stream, std::string payload, bool last = false) {
    Frame frame;
    frame.kind = FrameKind::data;
    frame.stream = StreamId{stream};
    frame.channel = Channel::output;
    frame.last = last;
    frame.payload = std::move(payload);
    return frame;
}

std::string encode(const Frame& frame) {
    std::string out;
    encode_frame(frame, out);
    return out;
}

std::string header(std::uint32_t length, unsigned kind, std::uint32_t stream, unsigned channel,
                   unsigned flags = 0, unsigned zero = 0) {
    std::string out = encode_u32(length);
    out += static_cast<char>(kind);
    out += encode_u32(stream);
    for (const unsigned byte : {channel, flags, zero}) out += static_cast<char>(byte);
    return out;
}

std::string refusal(std::string_view bytes) {
    FrameDecoder decoder;
    decoder.feed(bytes);
    const auto frame = decoder.next();
    if (frame) return *frame ? "a frame" : "more bytes";
    EXPECT_EQ(frame.error().kind(), Kind::protocol_violation);
    EXPECT_FALSE(decoder.next()) << "a decoder that has failed must stay dead";
    return frame.error().message();
}

TEST(Frame, IsTwelveBytesOfHeaderAndThePayload) {
    EXPECT_EQ(encode(data_frame(0x01020304, "hi", true)),
              std::string("\0\0\0\2\4\1\2\3\4\2\1\0hi", 14));
}

TEST(FrameDecoder, ReadsWhatWasWrittenInPiecesOfAnySize) {
    std::mt19937 random(11);
    std::string bytes;
    std::vector<Frame> frames;
    for (std::uint32_t i = 1; i <= 50; ++i) {
        frames.push_back(data_frame(i, std::string(1 + random() % 300, 'x'), i % 7 == 0));
        encode_frame(frames.back(), bytes);
    }
    for (std::size_t piece = 1; piece < 40; ++piece) {
        FrameDecoder decoder;
        std::size_t read = 0;
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
            decoder.feed(std::string_view(bytes).substr(at, piece));
            while (auto frame = decoder.next().value()) {
                ASSERT_LT(read, frames.size());
                EXPECT_EQ(frame->stream, frames[read].stream);
                EXPECT_EQ(frame->payload, frames[read].payload);
                EXPECT_EQ(frame->last, frames[read].last);
                ++read;
            }
        }
        EXPECT_EQ(read, frames.size());
        EXPECT_TRUE(decoder.at_boundary());
    }
}

TEST(FrameDecoder, RefusesALengthFromTheHeaderAlone) {
    // Nothing of the payload is there, and nothing is allocated for it.
    EXPECT_EQ(refusal(header(limits::data_payload_bytes + 1, 4, 2, 1)),
              "frame too long for its kind");
    EXPECT_EQ(refusal(header(limits::control_payload_bytes + 1, 3, 2, 0)),
              "frame too long for its kind");
    EXPECT_EQ(refusal(header(0xFFFFFFFF, 4, 2, 1)), "frame too long for its kind");
    EXPECT_EQ(refusal(header(limits::data_payload_bytes, 4, 2, 1)), "more bytes");
    EXPECT_EQ(refusal(header(limits::control_payload_bytes, 3, 2, 0)), "more bytes");
}

TEST(FrameDecoder, RefusesWhatNoFrameCanBe) {
    EXPECT_EQ(refusal(header(0, 0, 0, 0)), "unknown frame kind");
    EXPECT_EQ(refusal(header(0, 11, 0, 0)), "unknown frame kind");
    EXPECT_EQ(refusal(header(8, 8, 0, 0, 0, 1)), "padding is not zero");
    EXPECT_EQ(refusal(header(1, 4, 2, 4)), "unknown channel");
    EXPECT_EQ(refusal(header(1, 4, 2, 0)), "wrong channel for the kind");
    EXPECT_EQ(refusal(header(2, 2, 2, 1)), "wrong channel for the kind");
    EXPECT_EQ(refusal(header(1, 4, 0, 1)), "kind needs a stream");
    EXPECT_EQ(refusal(header(2, 1, 2, 0)), "kind belongs on stream 0");
    EXPECT_EQ(refusal(header(8, 8, 2, 0)), "kind belongs on stream 0");
    EXPECT_EQ(refusal(header(1, 4, 2, 1, 2)), "unknown flag");
    EXPECT_EQ(refusal(header(2, 3, 2, 0, 1)), "unknown flag");
    EXPECT_EQ(refusal(header(0, 4, 2, 1, 0)), "empty data");
    EXPECT_EQ(refusal(header(3, 5, 2, 1)), "frame too short for its kind");
    EXPECT_EQ(refusal(header(5, 5, 2, 1)), "frame too long for its kind");
    EXPECT_EQ(refusal(header(1, 7, 2, 0)), "frame too long for its kind");
    EXPECT_EQ(refusal(header(0, 3, 2, 0)), "frame too short for its kind");
}

TEST(FrameDecoder, TakesAHalfCloseWithoutBytes) {
    EXPECT_EQ(refusal(header(0, 4, 2, 1, 1)), "a frame");
}

TEST(FrameDecoder, HoldsLessThanAFrameBetweenFeeds) {
    const std::string bytes = encode(data_frame(2, std::string(limits::data_payload_bytes, 'x')));
    FrameDecoder decoder;
    std::size_t most = 0;
    for (int round = 0; round < 50; ++round) {
        for (std::size_t at = 0; at < bytes.size(); at += 1000) {
            decoder.feed(std::string_view(bytes).substr(at, 1000));
            while (decoder.next().value()) {
            }
            most = std::max(most, decoder.rest().size());
        }
    }
    EXPECT_LT(most, bytes.size());
    EXPECT_LE(decoder.held_bytes(), bytes.size() + 1000);
}

}  // namespace
}  // namespace protocol
