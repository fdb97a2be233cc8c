#pragma once
// UniqueFd: owns one file descriptor. Move-only, closes on destruction. Descriptors are made
// close-on-exec where they are born; this class does not change flags.

#include <unistd.h>
#include <utility>

namespace protocol {

class UniqueFd {
  public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        if (this != &other) reset(std::exchange(other.fd_, -1));
        return *this;
    }
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;
    ~UniqueFd() { reset(); }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    // Gives ownership away; the caller must close it or hand it to something that does.
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    void reset(int fd = -1) {
        // close() releases the descriptor even when it reports an error (Linux), so no retry.
        if (int old = std::exchange(fd_, fd); old >= 0) ::close(old);
    }

  private:
    int fd_ = -1;
};

}  // namespace protocol
