#pragma once
// InputTail: the last bytes of standard input that were sent. A daemon answers when it has handed
// bytes to the host link, so what is in the link is lost with it; sent again from its old offset it
// arrives once, because the agent skips what it already has. A plain value.

#include "protocol/wire/limits.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sdk {

class InputTail {
  public:
    // At least what a daemon may hold: its queue for the link and the link's window.
    static constexpr std::size_t kept_bytes =
        protocol::limits::data_queue_bytes + protocol::limits::window_bytes;

    void append(std::string_view bytes) {
        bytes_.append(bytes);
        if (bytes_.size() <= 2 * kept_bytes) return;  // not at every call
        const std::size_t surplus = bytes_.size() - kept_bytes;
        bytes_.erase(0, surplus);
        start_ += surplus;
    }
    std::uint64_t start() const { return start_; }
    std::uint64_t end() const { return start_ + bytes_.size(); }
    const std::string& bytes() const { return bytes_; }

  private:
    std::uint64_t start_ = 0;
    std::string bytes_;
};

}  // namespace sdk
