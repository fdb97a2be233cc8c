#include "sdk/cpp/output_records.hpp"

#include <gtest/gtest.h>

namespace {

using sdk::encode_output_record;
using sdk::OutputRecord;
using sdk::OutputRecords;
using sdk::OutputStream;
using Type = sdk::OutputRecord::Type;

const std::string gap_payload("\0\0\0\0\0\0\1\4", 8);

TEST(OutputRecords, WritesTheDocumentedBytes) {
    const std::string bytes = encode_output_record(Type::bytes, OutputStream::error, 258, "ab");
    EXPECT_EQ(bytes, std::string("\1\2\0\0\0\0\0\2\0\0\0\0\0\0\1\2ab", 18));
}

TEST(OutputRecords, ComeOutWholeFromAnyPieces) {
    const std::string stream =
        encode_output_record(Type::bytes, OutputStream::standard, 0, std::string("a\0b", 3)) +
        encode_output_record(Type::gap, OutputStream::error, 10, gap_payload) +
        encode_output_record(Type::keep_alive, OutputStream{}, 0, "") +
        encode_output_record(Type::stream_ended, OutputStream::standard, 3, "") +
        encode_output_record(Type::command_ended, OutputStream{}, 0, "{}");
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
        OutputRecords records;
        std::vector<OutputRecord> seen;
        for (std::size_t at = 0; at < stream.size(); at += piece) {
            records.feed(std::string_view(stream).substr(at, piece));
            for (;;) {
                auto record = records.next();
                ASSERT_TRUE(record);
                if (!*record) break;
                seen.push_back(**record);
            }
        }
        ASSERT_EQ(seen.size(), 5u) << piece;
        EXPECT_EQ(seen[0].payload, std::string("a\0b", 3));
        EXPECT_EQ(seen[1].type, Type::gap);
        EXPECT_EQ(seen[1].offset, 10u);
        EXPECT_EQ(seen[1].gap_end, 260u);
        EXPECT_EQ(seen[3].offset, 3u);
        EXPECT_EQ(seen[4].payload, "{}");
        EXPECT_FALSE(records.is_cut_off());
    }
}

TEST(OutputRecords, LeavesOutTypesItDoesNotKnow) {
    OutputRecords records;
    records.feed(encode_output_record(Type{77}, OutputStream{9}, 0, "future"));
    records.feed(encode_output_record(Type::bytes, OutputStream::standard, 0, "x"));
    const auto record = records.next();
    ASSERT_TRUE(record && *record);
    EXPECT_EQ((*record)->payload, "x");
}

TEST(OutputRecords, SeesThatARecordIsCutOff) {
    OutputRecords records;
    records.feed(encode_output_record(Type::bytes, OutputStream::standard, 0, "abc").substr(0, 17));
    ASSERT_TRUE(records.next());
    EXPECT_TRUE(records.is_cut_off());
}

TEST(OutputRecords, RefusesWhatCannotBeRight) {
    OutputRecords huge;
    huge.feed(std::string("\1\1\0\0\xFF\xFF\xFF\xFF\0\0\0\0\0\0\0\0", 16));
    EXPECT_FALSE(huge.next());

    OutputRecords stream;
    stream.feed(encode_output_record(Type::bytes, OutputStream{3}, 0, ""));
    EXPECT_FALSE(stream.next());

    OutputRecords without_end;
    without_end.feed(encode_output_record(Type::gap, OutputStream::standard, 0, ""));
    EXPECT_FALSE(without_end.next());

    OutputRecords backwards;
    backwards.feed(encode_output_record(Type::gap, OutputStream::standard, 1000, gap_payload));
    EXPECT_FALSE(backwards.next());
}

}  // namespace
