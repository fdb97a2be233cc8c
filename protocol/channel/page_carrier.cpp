#include "protocol/channel/page_carrier.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>

namespace protocol {
namespace {

// Of places for a page each: a program that writes in pieces of a little more than half a page
// fills one of them with each.
constexpr int pipe_bytes = 1 << 20;

ssize_t splice_now(int from, int to, std::size_t bytes) {
    return ::splice(from, nullptr, to, nullptr, bytes, SPLICE_F_NONBLOCK);
}

}  // namespace

std::optional<PageCarrier> PageCarrier::make() {
    return make(splice_now);
}

std::optional<PageCarrier> PageCarrier::make(Splice splice) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) < 0) return std::nullopt;
    UniqueFd read_end(ends[0]), write_end(ends[1]);
    if (::fcntl(write_end.get(), F_SETPIPE_SZ, pipe_bytes) < 0) return std::nullopt;
    return PageCarrier(std::move(read_end), std::move(write_end), splice);
}

bool PageCarrier::load(std::string_view header, int pipe, std::size_t bytes) {
    const ssize_t written = ::write(write_end_.get(), header.data(), header.size());
    if (written > 0) loaded_ += static_cast<std::size_t>(written);
    if (written != static_cast<ssize_t>(header.size())) return false;
    const ssize_t teed = ::tee(pipe, write_end_.get(), bytes, SPLICE_F_NONBLOCK);
    if (teed > 0) loaded_ += static_cast<std::size_t>(teed);
    return teed == static_cast<ssize_t>(bytes);
}

void PageCarrier::unload() {
    if (loaded_ > 0) (void)take_all();
}

std::string PageCarrier::take_all() {
    std::string bytes(std::exchange(loaded_, 0), '\0');
    std::size_t taken = 0;
    while (taken < bytes.size()) {
        const ssize_t count = ::read(read_end_.get(), bytes.data() + taken, bytes.size() - taken);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        taken += static_cast<std::size_t>(count);
    }
    bytes.resize(taken);
    return bytes;
}

PageCarrier::Sent PageCarrier::send(int port, std::string& rest) {
    bool started = false;
    while (loaded_ > 0) {
        const ssize_t count = splice_(read_end_.get(), port, loaded_);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        started = true;
        loaded_ -= static_cast<std::size_t>(count);
    }
    if (loaded_ == 0) return started ? Sent::all : Sent::none;
    const std::size_t missing = loaded_;
    rest = take_all();
    if (!started) return Sent::none;
    // The driver takes pages out of the pipe before it looks for room in its queue, drops those it
    // has none for, and says 0.
    return rest.size() == missing ? Sent::part : Sent::broken;
}

}  // namespace protocol
