#pragma once
// SendQueue: the order in which a session's frames leave. Control frames first; then data,
// round-robin over streams, one frame of at most limits::write_bytes a turn. Inside a stream
// nothing overtakes: an event or end put in after data leaves after that data. Pure; used by
// Session, which has checked credit and limits before.

#include "protocol/base/ids.hpp"
#include "protocol/wire/frame.hpp"

#include <deque>
#include <map>
#include <string>
#include <string_view>

namespace protocol {

class SendQueue {
  public:
    // A frame that need not wait for any stream's data.
    void push_control(const Frame& frame);
    // A control frame of a stream: waits for that stream's earlier data, if any is left.
    void push_in_stream(const Frame& frame);
    void push_data(StreamId stream, Channel channel, std::string_view bytes, bool last);
    // Forgets a stream's waiting data and events; an `end` among them still goes out.
    void abandon(StreamId stream);

    // Bytes to write next (staged once, then stable until written).
    std::string_view output();
    void written(std::size_t bytes);
    // Nothing waits, not even the rest of a frame.
    bool empty() const { return staged_.empty() && control_.empty() && turns_.empty(); }
    // The end of a frame whose beginning has been written already; nothing may be staged.
    void begin_with_rest(std::string rest);
    void begin_with(std::string_view raw);  // forgets everything else
    // Everything that output() has not shown yet gives way to this frame.
    void finish_with(const Frame& frame);

    std::size_t data_bytes() const { return data_bytes_ + staged_data_bytes_; }
    std::size_t control_bytes() const { return control_bytes_; }
    std::size_t held_bytes() const;

  private:
    struct Item {
        FrameKind kind;
        Channel channel;
        bool last;
        std::string encoded;  // of a data frame the header is written when it leaves
    };

    void push_control(std::string encoded);
    Item& data_item(std::deque<Item>& items, Channel channel);
    void stage(std::string encoded);
    void stage_data(StreamId stream);
    void release_control(std::deque<Item>& items);

    std::deque<std::string> control_;               // encoded
    std::map<StreamId, std::deque<Item>> streams_;  // front is always data
    std::deque<StreamId> turns_;                    // each stream of streams_ once
    std::string staged_;
    std::size_t staged_written_ = 0;
    std::size_t staged_data_bytes_ = 0;
    std::size_t data_bytes_ = 0;
    std::size_t control_bytes_ = 0;  // encoded and waiting behind data, together
};

}  // namespace protocol
