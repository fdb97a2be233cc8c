#include "sdk/cpp/output_records.hpp"

namespace sdk {
namespace {

using protocol::fail;
using protocol::Kind;

constexpr std::size_t header_bytes = 16;
constexpr std::size_t gap_bytes = 8;
// A command with all its arguments is the largest payload there is.
constexpr std::uint64_t payload_limit = 64u << 20;

std::uint64_t big_endian(std::string_view bytes) {
    std::uint64_t value = 0;
    for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
}

void append_big_endian(std::string& out, std::uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
        out.push_back(static_cast<char>(value >> shift & 0xFF));
    }
}

}  // namespace

void OutputRecords::feed(std::string_view bytes) {
    if (taken_ > 0) {
        buffer_.erase(0, taken_);
        taken_ = 0;
    }
    buffer_.append(bytes);
}

Result<std::optional<OutputRecord>> OutputRecords::next() {
    for (;;) {
        const std::string_view rest = std::string_view(buffer_).substr(taken_);
        if (rest.size() < header_bytes) return std::nullopt;
        const std::uint64_t length = big_endian(rest.substr(4, 4));
        if (length > payload_limit) {
            return fail(Kind::protocol_violation,
                        "a record of the live output claims " + std::to_string(length) + " bytes");
        }
        if (rest.size() - header_bytes < length) return std::nullopt;

        OutputRecord record;
        const auto type = static_cast<unsigned char>(rest[0]);
        const auto stream = static_cast<unsigned char>(rest[1]);
        record.type = static_cast<OutputRecord::Type>(type);
        record.stream = static_cast<OutputStream>(stream);
        record.offset = big_endian(rest.substr(8, 8));
        record.payload = rest.substr(header_bytes, length);
        taken_ += header_bytes + length;

        using enum OutputRecord::Type;
        const bool of_stream =
            record.type == bytes || record.type == gap || record.type == stream_ended;
        if (of_stream && stream != 1 && stream != 2) {
            return fail(Kind::protocol_violation,
                        "a record of the live output names stream " + std::to_string(stream));
        }
        if (record.type == gap) {
            if (length != gap_bytes) {
                return fail(Kind::protocol_violation, "a gap in the live output has no end");
            }
            record.gap_end = big_endian(record.payload);
            if (record.gap_end < record.offset) {
                return fail(Kind::protocol_violation,
                            "a gap in the live output ends before it starts");
            }
        }
        if (of_stream || record.type == command_ended || record.type == keep_alive) return record;
    }
}

std::string encode_output_record(OutputRecord::Type type, OutputStream stream, std::uint64_t offset,
                                 std::string_view payload) {
    std::string out;
    append_big_endian(out, static_cast<std::uint64_t>(type), 1);
    append_big_endian(out, static_cast<std::uint64_t>(stream), 1);
    append_big_endian(out, 0, 2);
    append_big_endian(out, payload.size(), 4);
    append_big_endian(out, offset, 8);
    out.append(payload);
    return out;
}

}  // namespace sdk
