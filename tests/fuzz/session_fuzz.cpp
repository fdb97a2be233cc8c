// Session: each byte of the input is an operation on a session of either role, with a well-behaved
// peer Session whose bytes can be cut into pieces, mixed with noise or replaced. The invariants are
// those a hostile peer must not be able to break.

#include "protocol/session/session.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

using namespace protocol;

namespace {

constexpr Nonce nonce = {1, 2, 3, 4, 5, 6, 7, 8};

// The most a session may hold when its owner reads all events: its queues, half a frame, and a
// batch that is being written.
constexpr std::size_t held_max =
    limits::control_queue_bytes + limits::data_queue_bytes + 3 * limits::control_payload_bytes;

class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
    bool empty() const { return size_ == 0; }
    std::uint8_t byte() {
        if (size_ == 0) return 0;
        --size_;
        return *data_++;
    }
    std::string_view bytes(std::size_t count) {
        count = std::min(count, size_);
        const std::string_view piece(reinterpret_cast<const char*>(data_), count);
        data_ += count;
        size_ -= count;
        return piece;
    }

  private:
    const std::uint8_t* data_;
    std::size_t size_;
};

// One session and what its owner has seen of each stream.
class Side {
  public:
    explicit Side(Role role) : session(role, "{}", nonce, TimePoint{}) {}

    Session session;

    void drain() {
        while (auto event = session.next_event()) {
            std::visit([this](const auto& each) { saw(each); }, *event);
        }
        fuzz::require(session.queued_bytes() <= held_max, "queued_bytes is bounded");
        fuzz::require(session.streams_open() <= limits::host_streams + limits::guest_streams,
                      "streams are bounded");
    }

    void saw(const PeerReady&) { streams_.clear(); }
    void saw(const StreamOpened& event) {
        fuzz::require(streams_.try_emplace(event.stream).second, "an id is opened once");
    }
    void saw(const StreamEvent& event) {
        fuzz::require(event.stream == StreamId::connection || !stream(event.stream).over,
                      "no event after the end");
    }
    void saw(const StreamData& event) {
        Seen& seen = stream(event.stream);
        auto& lane = seen.lanes[event.channel];
        fuzz::require(!seen.over, "no data after the end");
        fuzz::require(!lane.closed, "no data after half-close");
        lane.unread += event.bytes.size();
        fuzz::require(lane.unread <= limits::window_bytes, "no data beyond credit");
        lane.closed = event.last;
    }
    void saw(const StreamWritable& event) { (void)stream(event.stream); }
    void saw(const StreamEnded& event) {
        fuzz::require(!std::exchange(stream(event.stream).over, true), "a stream ends once");
    }
    void saw(const StreamReset& event) {
        fuzz::require(!std::exchange(stream(event.stream).reset, true), "a reset is told once");
    }
    void saw(const PeerBye&) {}

    void opened(StreamId id) { streams_.try_emplace(id); }
    void consume(StreamId id, Channel channel, std::size_t bytes) {
        session.consumed(id, channel, bytes);
        const auto found = streams_.find(id);
        if (found == streams_.end()) return;
        auto& unread = found->second.lanes[channel].unread;
        unread -= std::min(unread, bytes);
    }
    void forget_all() { streams_.clear(); }

  private:
    struct Lane {
        std::size_t unread = 0;
        bool closed = false;
    };
    struct Seen {
        std::map<Channel, Lane> lanes;
        bool over = false, reset = false;
    };

    Seen& stream(StreamId id) {
        const auto found = streams_.find(id);
        fuzz::require(found != streams_.end(), "events are for streams that were opened");
        return found->second;
    }

    std::map<StreamId, Seen> streams_;
};

void carry(Side& from, Side& to, std::size_t count, TimePoint now) {
    const std::string bytes(from.session.output().substr(0, count));
    from.session.written(bytes.size());
    from.drain();
    (void)to.session.feed(bytes, now);
    to.drain();
}

void act(Side& side, std::uint8_t what, Input& input) {
    const StreamId id{static_cast<std::uint32_t>(input.byte() % 12)};
    const auto channel = Channel{static_cast<std::uint8_t>(1 + input.byte() % 3)};
    const std::size_t amount = std::size_t{input.byte()} << (input.byte() % 12);
    switch (what % 8) {
        case 0:
            if (auto opened = side.session.open("{}")) side.opened(*opened);
            break;
        case 1:
            if (id != StreamId::connection) side.session.end(id, "{}");
            break;
        case 2:
            side.session.reset(id);
            break;
        case 3:
            side.session.send_event(id, "{}");
            break;
        case 4: {
            const std::size_t room = side.session.sendable(id, channel);
            const std::size_t taken =
                side.session.send_data(id, channel, std::string(amount, 'x'), amount % 5 == 0);
            fuzz::require(taken == std::min(room, amount), "sendable is what is taken");
            break;
        }
        case 5:
            side.consume(id, channel, amount);
            break;
        case 6:
            side.session.bye("fuzz");
            break;
        case 7:
            if (amount % 7 == 0) {
                side.session.interrupted();
                if (!side.session.ready()) side.forget_all();
            }
            break;
    }
    side.drain();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    Side host(Role::host), guest(Role::guest);
    TimePoint now{};
    if (input.byte() % 4 != 0) {  // mostly past the handshake
        carry(host, guest, SIZE_MAX, now);
        carry(guest, host, SIZE_MAX, now);
    }
    while (!input.empty()) {
        const std::uint8_t operation = input.byte();
        Side& side = operation & 0x80 ? host : guest;
        Side& other = operation & 0x80 ? guest : host;
        switch ((operation >> 4) & 7) {
            case 0:
            case 1:
                carry(side, other, std::size_t{1} + input.byte(), now);
                break;
            case 2:
                carry(side, other, SIZE_MAX, now);
                break;
            case 3:
                act(side, operation & 7, input);
                break;
            case 4:
                act(side, operation & 7, input);
                break;
            case 5: {
                now += std::chrono::seconds(operation & 15);
                (void)side.session.tick(now);
                side.drain();
                break;
            }
            case 6: {  // bytes from nowhere
                (void)side.session.feed(input.bytes(operation & 15), now);
                side.drain();
                break;
            }
            case 7: {  // a frame that no Session would send here
                Frame frame;
                frame.kind = FrameKind{static_cast<std::uint8_t>(2 + operation % 6)};
                frame.stream = StreamId{static_cast<std::uint32_t>(1 + input.byte() % 12)};
                const bool on_channel =
                    frame.kind == FrameKind::data || frame.kind == FrameKind::credit;
                if (on_channel)
                    frame.channel = Channel{static_cast<std::uint8_t>(1 + input.byte() % 3)};
                if (frame.kind == FrameKind::data) {
                    frame.payload = std::string(std::size_t{input.byte()} << 8, 'x');
                    frame.last = frame.payload.empty() || input.byte() % 2 == 0;
                } else if (frame.kind == FrameKind::credit) {
                    frame.payload = encode_u32(std::uint32_t{input.byte()} << 10);
                } else if (frame.kind != FrameKind::reset) {
                    frame.payload = "{}";
                }
                std::string bytes;
                encode_frame(frame, bytes);
                (void)side.session.feed(bytes, now);
                side.drain();
                break;
            }
        }
    }
    return 0;
}
