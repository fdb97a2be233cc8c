#include "protocol/session/send_queue.hpp"

#include "protocol/wire/limits.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace protocol {
namespace {

std::string encode(const Frame& frame) {
    std::string encoded;
    encoded.reserve(limits::header_bytes + frame.payload.size());
    encode_frame(frame, encoded);
    return encoded;
}

}  // namespace

void SendQueue::push_control(const Frame& frame) {
    push_control(encode(frame));
}

void SendQueue::push_control(std::string encoded) {
    control_bytes_ += encoded.size();
    control_.push_back(std::move(encoded));
}

void SendQueue::push_in_stream(const Frame& frame) {
    const auto found = streams_.find(frame.stream);
    if (found == streams_.end()) return push_control(frame);
    std::string encoded = encode(frame);
    control_bytes_ += encoded.size();
    found->second.push_back({frame.kind, frame.channel, false, std::move(encoded)});
}

void SendQueue::push_data(StreamId stream, Channel channel, std::string_view bytes, bool last) {
    auto [found, is_new] = streams_.try_emplace(stream);
    if (is_new) turns_.push_back(stream);
    data_bytes_ += bytes.size();
    while (true) {
        Item& item = data_item(found->second, channel);
        const std::string_view piece = bytes.substr(0, limits::write_bytes - item.encoded.size());
        item.encoded += piece;
        bytes.remove_prefix(piece.size());
        if (!bytes.empty()) continue;
        item.last = last;
        return;
    }
}

// The frame that the next data of the channel goes into: small pieces travel together.
SendQueue::Item& SendQueue::data_item(std::deque<Item>& items, Channel channel) {
    if (!items.empty()) {
        Item& tail = items.back();
        if (tail.kind == FrameKind::data && tail.channel == channel &&
            tail.encoded.size() < limits::write_bytes) {
            return tail;
        }
    }
    items.push_back({FrameKind::data, channel, false, std::string(limits::header_bytes, '\0')});
    return items.back();
}

void SendQueue::abandon(StreamId stream) {
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return;
    for (Item& item : found->second) {
        if (item.kind == FrameKind::data) {
            data_bytes_ -= item.encoded.size() - limits::header_bytes;
            continue;
        }
        control_bytes_ -= item.encoded.size();
        if (item.kind == FrameKind::end) push_control(std::move(item.encoded));
    }
    streams_.erase(found);
    std::erase(turns_, stream);
}

std::string_view SendQueue::output() {
    if (staged_.empty()) {
        while (!control_.empty() && staged_.size() < limits::write_bytes) {
            control_bytes_ -= control_.front().size();
            stage(std::move(control_.front()));
            control_.pop_front();
        }
        while (control_.empty() && !turns_.empty()) {
            const StreamId stream = turns_.front();
            const std::size_t size = streams_.at(stream).front().encoded.size();
            if (!staged_.empty() && staged_.size() + size > limits::write_bytes) break;
            turns_.pop_front();
            stage_data(stream);
        }
    }
    return std::string_view(staged_).substr(staged_written_);
}

// Small frames are handed to the transport together.
void SendQueue::stage(std::string encoded) {
    if (staged_.empty()) {
        staged_ = std::move(encoded);
    } else {
        staged_ += encoded;
    }
}

// One data frame of the stream, then whatever control frames waited for it.
void SendQueue::stage_data(StreamId stream) {
    const auto found = streams_.find(stream);
    std::deque<Item>& items = found->second;
    Item item = std::move(items.front());
    items.pop_front();
    const std::size_t size = item.encoded.size() - limits::header_bytes;
    Frame frame;
    frame.kind = FrameKind::data;
    frame.stream = stream;
    frame.channel = item.channel;
    frame.last = item.last;
    std::string header;
    encode_frame_header(frame, size, header);
    item.encoded.replace(0, header.size(), header);
    stage(std::move(item.encoded));
    staged_data_bytes_ += size;
    data_bytes_ -= size;
    release_control(items);
    if (items.empty()) {
        streams_.erase(found);
    } else {
        turns_.push_back(stream);
    }
}

void SendQueue::release_control(std::deque<Item>& items) {
    while (!items.empty() && items.front().kind != FrameKind::data) {
        control_bytes_ -= items.front().encoded.size();
        push_control(std::move(items.front().encoded));
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

void SendQueue::begin_with_rest(std::string rest) {
    assert(staged_.empty());
    staged_ = std::move(rest);
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
