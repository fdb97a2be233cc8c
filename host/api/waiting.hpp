#pragma once
// WaitingTicket: one of the limited places for clients that wait for something to happen.

#include "host/api/exchange.hpp"

#include <utility>

namespace host::api {

class WaitingTicket {
  public:
    static protocol::Result<WaitingTicket> take(Exchange& exchange) {
        const Origin origin = origin_of(exchange.principal());
        if (exchange.shared().waiting.take(origin)) return WaitingTicket(exchange.shared(), origin);
        return protocol::fail(protocol::Failure::with_code(
            protocol::Kind::resource_exhausted, "too-many-waiting",
            "too many clients are waiting already; ask without waiting, or later"));
    }
    WaitingTicket(WaitingTicket&& other) noexcept
        : shared_(std::exchange(other.shared_, nullptr)), origin_(other.origin_) {}
    WaitingTicket& operator=(WaitingTicket&&) = delete;
    ~WaitingTicket() {
        if (shared_) shared_->waiting.give_back(origin_);
    }

  private:
    WaitingTicket(Shared& shared, Origin origin) : shared_(&shared), origin_(origin) {}
    Shared* shared_;
    Origin origin_;
};

}  // namespace host::api
