#include "protocol/session/send_queue.hpp"

#include "protocol/wire/limits.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace protocol {
namespace {

// Small frames are handed to the transport together.
constexpr std::size_t stage_bytes = limits::data_payload_bytes;

std::size_t encoded_bytes(const Frame& frame) {
    return limits::header_bytes + frame.payload.size();
}

}  // namespace

void SendQueue::push_control(const Frame& frame) {
    std::string encoded;
    encoded.reserve(encoded_bytes(frame));
    encode_frame(frame, encoded);
    control_bytes_ += encoded.size();
    control_.push_back(std::move(encoded));
}

void SendQueue::push_in_stream(Frame frame) {
    const auto found = streams_.find(frame.stream);
    if (found == streams_.end()) return push_control(frame);
    control_bytes_ += encoded_bytes(frame);
    found->second.push_back({std::move(frame)});
}

void SendQueue::push_data(StreamId stream, Channel channel, std::string_view bytes, bool last) {
    auto [found, is_new] = streams_.try_emplace(stream);
    if (is_new) turns_.push_back(stream);
    std::deque<Item>& items = found->second;
    data_bytes_ += bytes.size();
    // Small pieces travel in one frame; past a frame's size there is nothing to win.
    if (!items.empty()) {
        Frame& tail = items.back().frame;
        if (tail.kind == FrameKind::data && tail.channel == channel &&
            tail.payload.size() + bytes.size() <= limits::data_payload_bytes) {
            tail.payload += bytes;
            tail.last = last;
            return;
        }
    }
    Frame frame;
    frame.kind = FrameKind::data;
    frame.stream = stream;
    frame.channel = channel;
    frame.last = last;
    frame.payload = bytes;
    items.push_back({std::move(frame)});
}

void SendQueue::abandon(StreamId stream) {
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return;
    for (const Item& item : found->second) {
        if (item.frame.kind == FrameKind::data) {
            data_bytes_ -= item.frame.payload.size() - item.sent;
            continue;
        }
        control_bytes_ -= encoded_bytes(item.frame);
        if (item.frame.kind == FrameKind::end) push_control(item.frame);
    }
    streams_.erase(found);
    std::erase(turns_, stream);
}

std::string_view SendQueue::output() {
    if (staged_.empty()) {
        while (!control_.empty() && staged_.size() < stage_bytes) {
            control_bytes_ -= control_.front().size();
            staged_ += control_.front();
            control_.pop_front();
        }
        while (control_.empty() && !turns_.empty() && staged_.size() < stage_bytes) {
            const StreamId stream = turns_.front();
            turns_.pop_front();
            stage_data(stream);
        }
    }
    return std::string_view(staged_).substr(staged_written_);
}

// One data frame of the stream, then whatever control frames waited for it.
void SendQueue::stage_data(StreamId stream) {
    const auto found = streams_.find(stream);
    std::deque<Item>& items = found->second;
    Item& item = items.front();
    const std::size_t size =
        std::min(item.frame.payload.size() - item.sent, limits::data_payload_bytes);
    const bool whole = item.sent + size == item.frame.payload.size();
    Frame header;
    header.kind = FrameKind::data;
    header.stream = stream;
    header.channel = item.frame.channel;
    header.last = item.frame.last && whole;
    encode_frame_header(header, size, staged_);
    staged_.append(item.frame.payload, item.sent, size);
    item.sent += size;
    staged_data_bytes_ += size;
    data_bytes_ -= size;
    if (whole) {
        items.pop_front();
        release_control(items);
    }
    if (items.empty()) {
        streams_.erase(found);
    } else {
        turns_.push_back(stream);
    }
}

void SendQueue::release_control(std::deque<Item>& items) {
    while (!items.empty() && items.front().frame.kind != FrameKind::data) {
        control_bytes_ -= encoded_bytes(items.front().frame);
        push_control(items.front().frame);
        items.pop_front();
    }
}

void SendQueue::written(std::size_t bytes) {
    assert(bytes <= staged_.size() - staged_written_);
    staged_written_ += bytes;
    if (staged_written_ < staged_.size()) return;
    staged_.clear();
    staged_written_ = 0;
    staged_data_bytes_ = 0;
}

void SendQueue::begin_with(std::string_view raw) {
    *this = SendQueue();
    control_.emplace_back(raw);
    control_bytes_ = raw.size();
}

void SendQueue::finish_with(const Frame& frame) {
    control_.clear();
    streams_.clear();
    turns_.clear();
    control_bytes_ = 0;
    data_bytes_ = 0;
    push_control(frame);
}

std::size_t SendQueue::held_bytes() const {
    return data_bytes_ + control_bytes_ + staged_.size() - staged_written_;
}

}  // namespace protocol
