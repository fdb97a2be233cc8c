#include "sdk/cpp/interrupt.hpp"

#include <cerrno>
#include <cstdlib>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace sdk {

Interrupt::Interrupt() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!fd_) std::abort();
}

void Interrupt::raise() const noexcept {
    const int saved = errno;  // a signal handler must leave errno alone
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
    errno = saved;
}

void Interrupt::clear() const noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t taken = ::read(fd_.get(), &count, sizeof count);
}

bool Interrupt::wait(int milliseconds) const noexcept {
    pollfd waiting{fd_.get(), POLLIN, 0};
    return ::poll(&waiting, 1, milliseconds) > 0;
}

}  // namespace sdk
