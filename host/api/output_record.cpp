#include "host/api/output_record.hpp"

namespace host::api {

namespace {

void append_number(std::string& out, std::uint64_t number, unsigned bytes) {
    for (unsigned shift = bytes * 8; shift > 0; shift -= 8) {
        out.push_back(static_cast<char>((number >> (shift - 8)) & 0xFFu));
    }
}

}  // namespace

std::string encode_output_record(OutputRecordType type, std::uint8_t stream, std::uint64_t offset,
                                 std::string_view payload) {
    std::string record;
    record.reserve(16 + payload.size());
    append_number(record, static_cast<std::uint8_t>(type), 1);
    append_number(record, stream, 1);
    append_number(record, 0, 2);
    append_number(record, payload.size(), 4);
    append_number(record, offset, 8);
    record += payload;
    return record;
}

std::uint8_t output_stream_number(protocol::Channel channel) {
    return channel == protocol::Channel::error ? 2 : 1;
}

std::string encode_offset(std::uint64_t offset) {
    std::string out;
    append_number(out, offset, 8);
    return out;
}

}  // namespace host::api
