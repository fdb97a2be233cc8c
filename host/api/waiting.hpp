#pragma once
// WaitingTicket: one of the limited places for clients that wait for something to happen.

#include "host/api/shared.hpp"

#include <utility>

namespace host::api {

class WaitingTicket {
  public:
    static protocol::Result<WaitingTicket> take(Shared& shared) {
        if (shared.waiting < shared.options.waiting) return WaitingTicket(shared);
        return protocol::fail(protocol::Failure::with_code(
            protocol::Kind::resource_exhausted, "too-many-waiting",
            "already " + std::to_string(shared.waiting) +
                " clients are waiting; ask without waiting, or later"));
    }
    WaitingTicket(WaitingTicket&& other) noexcept
        : shared_(std::exchange(other.shared_, nullptr)) {}
    WaitingTicket& operator=(WaitingTicket&&) = delete;
    ~WaitingTicket() {
        if (shared_) --shared_->waiting;
    }

  private:
    explicit WaitingTicket(Shared& shared) : shared_(&shared) { ++shared.waiting; }
    Shared* shared_;
};

}  // namespace host::api
