#pragma once
// OutputRecords: takes apart the live output of a command (application/vnd.capsule.output): bytes
// in, records out, whatever the pieces. Pure. docs/api.md describes the format.

#include "protocol/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sdk {

using protocol::Result;

enum class OutputStream : std::uint8_t { standard = 1, error = 2 };

struct OutputRecord {
    OutputRecord() = default;
    enum class Type : std::uint8_t {
        bytes = 1,          // payload at offset
        gap = 2,            // nothing is known of the bytes from offset to gap_end
        command_ended = 3,  // payload: the command as JSON
        stream_ended = 4,
        keep_alive = 5,
    } type{};
    OutputStream stream{};  // of bytes, gap and stream_ended
    std::uint64_t offset = 0;
    std::uint64_t gap_end = 0;
    std::string payload;
};

class OutputRecords {
  public:
    void feed(std::string_view bytes);
    // nullopt: more bytes are needed. Records of unknown types are left out. protocol_violation for
    // a record that cannot be right; nothing can be read after it.
    Result<std::optional<OutputRecord>> next();
    // True when the input stopped in the middle of a record.
    bool is_cut_off() const { return taken_ < buffer_.size(); }

  private:
    std::string buffer_;
    std::size_t taken_ = 0;
};

// One record as the daemon writes it; the fake daemon of the tests does.
std::string encode_output_record(OutputRecord::Type type, OutputStream stream, std::uint64_t offset,
                                 std::string_view payload);

}  // namespace sdk
