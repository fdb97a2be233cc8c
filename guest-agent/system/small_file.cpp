#include "guest-agent/system/small_file.hpp"

#include "protocol/base/unique_fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace guest_agent {

using protocol::Failure;
using protocol::Kind;
using protocol::Result;
using protocol::UniqueFd;

Result<std::string> read_small_file(const std::string& path, std::size_t limit) {
    // O_NONBLOCK: a path from the guest's disk could be a FIFO by now, and process 1 must not wait
    // on it.
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) return protocol::fail(Failure::from_errno("open " + path, errno));
    std::string text;
    char piece[4096];
    while (true) {
        const ssize_t count = ::read(file.get(), piece, sizeof piece);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return protocol::fail(Failure::from_errno("read " + path, errno));
        if (count == 0) return text;
        text.append(piece, static_cast<std::size_t>(count));
        if (text.size() > limit) return protocol::fail(Kind::too_large, path + " is too large");
    }
}

Result<void> write_kernel_file(const std::string& path, std::string_view text) {
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!file) return protocol::fail(Failure::from_errno("open " + path, errno));
    if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        return protocol::fail(Failure::from_errno("write " + path, errno));
    }
    return {};
}

}  // namespace guest_agent
