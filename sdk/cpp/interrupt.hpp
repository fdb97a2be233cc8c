#pragma once
// Interrupt: wakes a thread that waits in the client library. raise() may be called from a signal
// handler or another thread; a waiting call then fails with the code "interrupted" and can be
// repeated where its description says so.

#include "protocol/base/unique_fd.hpp"

#include <cstdint>

namespace sdk {

inline constexpr char interrupted_code[] = "interrupted";

class Interrupt {
  public:
    Interrupt();  // aborts if no descriptor can be had: nothing works then

    void raise() const noexcept;  // async-signal-safe
    void clear() const noexcept;
    // Sleeps; true when raised before the time was over.
    bool wait(int milliseconds) const noexcept;
    int fd() const { return fd_.get(); }

  private:
    protocol::UniqueFd fd_;
};

}  // namespace sdk
