#pragma once
// Two sessions and the bytes between them, in memory; and a raw end for saying what no Session
// says.

#include "protocol/session/session.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace protocol::test {

inline constexpr Nonce sample_nonce = {1, 2, 3, 4, 5, 6, 7, 8};

using Events = std::vector<SessionEvent>;

// Moves at most `piece` bytes; returns how many. The receiver's failure, if any, ends up in
// `failure`.
std::size_t carry(Session& from, Session& to, std::size_t piece, TimePoint now,
                  std::optional<Failure>* failure = nullptr);

void collect(Session& session, Events& events);

// The events of one type, in order; the others stay.
template <typename T>
std::vector<T> take(Events& events) {
    std::vector<T> taken;
    std::erase_if(events, [&](SessionEvent& event) {
        T* wanted = std::get_if<T>(&event);
        if (wanted != nullptr) taken.push_back(std::move(*wanted));
        return wanted != nullptr;
    });
    return taken;
}

struct SessionPair {
    TimePoint now{};
    Session host{Role::host, R"({"software":"host"})", sample_nonce, now};
    Session guest{Role::guest, R"({"software":"guest"})", {}, now};
    Events host_events, guest_events;
    std::optional<Failure> host_failure, guest_failure;

    // Until nothing moves any more, in pieces of `piece` bytes each way.
    void settle(std::size_t piece = 64u << 10);
    // Handshake done and its events taken.
    void connect();
    // A stream from the host, its StreamOpened taken.
    StreamId open_from_host();
    StreamId open_from_guest();
};

// One end that is a Session, fed with hand-made frames after a proper handshake.
struct RawPeer {
    explicit RawPeer(Role role_of_session);
    // Empty when all was accepted, else the failure's message.
    std::string feed(const Frame& frame);
    std::string feed(std::string_view bytes);
    // What the session has written, frame by frame.
    std::vector<Frame> sent();

    TimePoint now{};
    Session session;
    Events events;
    FrameDecoder decoder;
};

Frame make_frame(FrameKind kind, std::uint32_t stream, std::string payload = "{}");
Frame make_data(std::uint32_t stream, Channel channel, std::string payload, bool last = false);
Frame make_credit(std::uint32_t stream, Channel channel, std::uint32_t bytes);

}  // namespace protocol::test
