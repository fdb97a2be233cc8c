#include "protocol/wire/frame.hpp"

#include <cassert>

namespace protocol {
namespace {

constexpr unsigned char flag_last = 1;

void put_u32(std::uint32_t value, std::string& out) {
    for (const int shift : {24, 16, 8, 0}) out += static_cast<char>((value >> shift) & 0xFF);
}

struct Header {
    std::uint32_t length;
    unsigned char kind;
    std::uint32_t stream;
    unsigned char channel, flags, zero;
};

Header read_header(std::string_view bytes) {
    return {read_u32(bytes),
            static_cast<unsigned char>(bytes[4]),
            read_u32(bytes.substr(5)),
            static_cast<unsigned char>(bytes[9]),
            static_cast<unsigned char>(bytes[10]),
            static_cast<unsigned char>(bytes[11])};
}

enum class Place : std::uint8_t { connection, stream, either };

// What a kind allows; nullptr for a number that is no kind.
struct Shape {
    std::uint32_t length_min, length_max;
    Place place;
    bool on_channel;  // channel 1 to 3; the others are on channel 0
};

constexpr std::uint32_t control_max = limits::control_payload_bytes;
constexpr Shape control_of_connection{2, control_max, Place::connection, false};
constexpr Shape control_of_stream{2, control_max, Place::stream, false};
constexpr Shape event_shape{2, control_max, Place::either, false};
constexpr Shape data_shape{0, limits::data_payload_bytes, Place::stream, true};
constexpr Shape credit_shape{4, 4, Place::stream, true};
constexpr Shape reset_shape{0, 0, Place::stream, false};
constexpr Shape ping_shape{8, 8, Place::connection, false};

const Shape* shape_of(FrameKind kind) {
    switch (kind) {
        case FrameKind::hello:
        case FrameKind::bye:
            return &control_of_connection;
        case FrameKind::open:
        case FrameKind::end:
            return &control_of_stream;
        case FrameKind::event:
            return &event_shape;
        case FrameKind::data:
            return &data_shape;
        case FrameKind::credit:
            return &credit_shape;
        case FrameKind::reset:
            return &reset_shape;
        case FrameKind::ping:
        case FrameKind::pong:
            return &ping_shape;
    }
    return nullptr;
}

// Empty when the header is legal; otherwise what is wrong. Nothing is allocated for a payload
// before this has passed.
std::string_view wrong_with(const Header& header) {
    const Shape* shape = shape_of(FrameKind{header.kind});
    if (shape == nullptr) return "unknown frame kind";
    if (header.zero != 0) return "padding is not zero";
    if (header.length < shape->length_min) return "frame too short for its kind";
    if (header.length > shape->length_max) return "frame too long for its kind";
    const bool on_connection = header.stream == 0;
    if (shape->place == Place::connection && !on_connection) return "kind belongs on stream 0";
    if (shape->place == Place::stream && on_connection) return "kind needs a stream";
    if (header.channel > static_cast<unsigned char>(Channel::error)) return "unknown channel";
    if (shape->on_channel != (header.channel != 0)) return "wrong channel for the kind";
    const bool is_data = FrameKind{header.kind} == FrameKind::data;
    if ((header.flags & ~(is_data ? flag_last : 0)) != 0) return "unknown flag";
    if (is_data && header.length == 0 && header.flags == 0) return "empty data";
    return {};
}

}  // namespace

std::uint32_t read_u32(std::string_view bytes) {
    assert(bytes.size() >= 4);
    std::uint32_t value = 0;
    for (const char c : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
}

void encode_frame_header(const Frame& frame, std::size_t payload_bytes, std::string& out) {
    const Header header{static_cast<std::uint32_t>(payload_bytes),
                        static_cast<unsigned char>(frame.kind),
                        static_cast<std::uint32_t>(frame.stream),
                        static_cast<unsigned char>(frame.channel),
                        frame.last ? flag_last : static_cast<unsigned char>(0),
                        0};
    assert(wrong_with(header).empty());
    put_u32(header.length, out);
    out += static_cast<char>(header.kind);
    put_u32(header.stream, out);
    out += static_cast<char>(header.channel);
    out += static_cast<char>(header.flags);
    out += static_cast<char>(header.zero);
}

void encode_frame(const Frame& frame, std::string& out) {
    encode_frame_header(frame, frame.payload.size(), out);
    out += frame.payload;
}

std::string encode_u32(std::uint32_t value) {
    std::string out;
    put_u32(value, out);
    return out;
}

void FrameDecoder::feed(std::string_view bytes) {
    // Frames already taken out are dropped here, once per feed and not once per frame.
    buffer_.erase(0, consumed_);
    consumed_ = 0;
    buffer_ += bytes;
}

Result<std::optional<Frame>> FrameDecoder::next() {
    if (dead_) return fail(Kind::protocol_violation, "the decoder has failed before");
    const std::string_view rest = std::string_view(buffer_).substr(consumed_);
    if (rest.size() < limits::header_bytes) return std::nullopt;
    const Header header = read_header(rest);
    if (const std::string_view wrong = wrong_with(header); !wrong.empty()) {
        dead_ = true;
        return fail(Kind::protocol_violation, std::string(wrong));
    }
    if (rest.size() - limits::header_bytes < header.length) return std::nullopt;
    Frame frame;
    frame.kind = FrameKind{header.kind};
    frame.stream = StreamId{header.stream};
    frame.channel = Channel{header.channel};
    frame.last = header.flags == flag_last;
    frame.payload = rest.substr(limits::header_bytes, header.length);
    consumed_ += limits::header_bytes + header.length;
    return std::optional<Frame>(std::move(frame));
}

bool FrameDecoder::at_boundary() const {
    return consumed_ == buffer_.size();
}

std::string_view FrameDecoder::rest() const {
    return std::string_view(buffer_).substr(consumed_);
}

void FrameDecoder::clear() {
    buffer_.clear();
    consumed_ = 0;
    dead_ = false;
}

std::size_t FrameDecoder::held_bytes() const {
    return buffer_.size();
}

}  // namespace protocol
