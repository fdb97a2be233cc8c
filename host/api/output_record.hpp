#pragma once
// Records of live output, `application/vnd.capsule.output` (docs/api.md). Pure.

#include "protocol/wire/frame.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace host::api {

enum class OutputRecordType : std::uint8_t {
    bytes = 1,
    gap = 2,
    ended = 3,
    stream_end = 4,
    keep_alive = 5
};

// Big-endian: u8 type | u8 stream | u16 zero | u32 length | u64 offset | payload.
// stream: 1 = standard output, 2 = error output, 0 = neither.
std::string encode_output_record(OutputRecordType type, std::uint8_t stream, std::uint64_t offset,
                                 std::string_view payload);
std::uint8_t output_stream_number(protocol::Channel channel);
// Eight bytes: the payload of a gap.
std::string encode_offset(std::uint64_t offset);

}  // namespace host::api
