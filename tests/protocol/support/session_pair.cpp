#include "tests/protocol/support/session_pair.hpp"

#include <algorithm>

namespace protocol::test {

std::size_t carry(Session& from, Session& to, std::size_t piece, TimePoint now,
                  std::optional<Failure>* failure) {
    const std::string bytes(from.output().substr(0, piece));
    if (bytes.empty()) return 0;
    from.written(bytes.size());
    if (auto fed = to.feed(bytes, now); !fed && failure != nullptr) *failure = fed.error();
    return bytes.size();
}

void collect(Session& session, Events& events) {
    while (auto event = session.next_event()) events.push_back(std::move(*event));
}

void SessionPair::settle(std::size_t piece) {
    for (bool moved = true; moved;) {
        moved = carry(host, guest, piece, now, &guest_failure) > 0;
        collect(guest, guest_events);
        collect(host, host_events);
        moved = carry(guest, host, piece, now, &host_failure) > 0 || moved;
        collect(host, host_events);
        collect(guest, guest_events);
    }
}

void SessionPair::connect() {
    settle();
    ASSERT_TRUE(host.ready() && guest.ready());
    host_events.clear();
    guest_events.clear();
}

StreamId SessionPair::open_from_host() {
    const StreamId stream = host.open(R"({"operation":"test"})").value();
    settle();
    take<StreamOpened>(guest_events);
    return stream;
}

StreamId SessionPair::open_from_guest() {
    const StreamId stream = guest.open(R"({"operation":"test"})").value();
    settle();
    take<StreamOpened>(host_events);
    return stream;
}

RawPeer::RawPeer(Role role_of_session) : session(role_of_session, "{}", sample_nonce, now) {
    std::string greeting = encode_preamble(sample_nonce);
    encode_frame(make_frame(FrameKind::hello, 0), greeting);
    EXPECT_EQ(feed(greeting), "");
    events.clear();
    std::string answer(session.output());
    session.written(answer.size());
    EXPECT_TRUE(answer.starts_with(encode_preamble(sample_nonce)));
    decoder.feed(std::string_view(answer).substr(preamble_bytes));
    EXPECT_EQ(decoder.next().value()->kind, FrameKind::hello);
}

std::string RawPeer::feed(const Frame& frame) {
    std::string bytes;
    encode_frame(frame, bytes);
    return feed(bytes);
}

std::string RawPeer::feed(std::string_view bytes) {
    const auto fed = session.feed(bytes, now);
    collect(session, events);
    return fed ? "" : fed.error().message();
}

std::vector<Frame> RawPeer::sent() {
    std::vector<Frame> frames;
    while (true) {
        const std::string bytes(session.output());
        if (bytes.empty()) return frames;
        session.written(bytes.size());
        decoder.feed(bytes);
        while (auto frame = decoder.next().value()) frames.push_back(std::move(*frame));
    }
}

Frame make_frame(FrameKind kind, std::uint32_t stream, std::string payload) {
    Frame frame;
    frame.kind = kind;
    frame.stream = StreamId{stream};
    frame.payload = std::move(payload);
    return frame;
}

Frame make_data(std::uint32_t stream, Channel channel, std::string payload, bool last) {
    Frame frame = make_frame(FrameKind::data, stream, std::move(payload));
    frame.channel = channel;
    frame.last = last;
    return frame;
}

Frame make_credit(std::uint32_t stream, Channel channel, std::uint32_t bytes) {
    Frame frame = make_frame(FrameKind::credit, stream, encode_u32(bytes));
    frame.channel = channel;
    return frame;
}

}  // namespace protocol::test
