#pragma once
// PortPresence: whether there is a host at the other end of a virtio-serial port, judged from what
// reading it gives. Pure; used by Link in the guest.
//
// A port without a host reads 0. But the guest's kernel hears of a host that comes by another queue
// than of the host's bytes, and hands out bytes at once: after them a port can read 0 for a moment
// although its host is there. Taking that for the host's end would throw its greeting away, and it
// would wait in vain until its handshake times out.

#include "protocol/session/session.hpp"

#include <chrono>
#include <optional>

namespace protocol {

class PortPresence {
  public:
    // Far longer than a busy guest needs to hear of its host, and shorter than the host waits.
    static constexpr auto opening_limit = std::chrono::seconds(1);

    void read_bytes(TimePoint now) {
        if (away_) came_ = now;
        away_ = false;
    }
    // Nothing to read, and somebody to wait for.
    void read_nothing() { away_ = false; }
    // True: whoever was there has gone.
    bool read_zero(TimePoint now) {
        away_ = true;
        return !came_ || now - *came_ >= opening_limit;
    }
    bool away() const { return away_; }

  private:
    bool away_ = true;
    std::optional<TimePoint> came_;  // the last time that its bytes were what showed a host
};

}  // namespace protocol
