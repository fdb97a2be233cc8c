#include "guest-agent/process/output.hpp"

#include "protocol/wire/limits.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace guest_agent {
namespace {

constexpr std::size_t piece_bytes = 64u << 10;
// What a lossless listener may hold back: what its consumer may not have taken yet (at most one
// credit window, see Listener::held_from), and one piece to send next.
constexpr std::size_t held_behind(std::size_t window) {
    return window + piece_bytes;
}
// What is kept at least, for those that come later.
constexpr std::size_t ring_bytes = held_behind(protocol::limits::window_bytes);
// What a pipe may hold. Program and agent take turns the more rarely the more it is, and on an
// emulated processor a turn is the dearest part; but what is in it counts as the command's memory,
// and what a slow listener has not seen of it at the command's end becomes the agent's.
constexpr std::size_t pipe_bytes = 512u << 10;
// What a pipe holds at most that a program has enlarged by itself (pipe(7), pipe-max-size). Root
// can go beyond; of such a pipe's rest at the command's end a listener gets the last bytes and a
// gap.
constexpr std::size_t largest_pipe_bytes = 1u << 20;
static_assert(pipe_bytes <= largest_pipe_bytes);
static_assert(ring_bytes >= protocol::limits::follow_ring_bytes &&
              ring_bytes >= protocol::OutputWindow::smallest_ring_bytes);
// Per turn of the loop, so that a flood does not starve other commands' answers.
constexpr std::size_t turn_bytes = 256u << 10;
// A program that writes in small pieces would wake the agent for each of them, at least where
// another processor is idle (on the only one it goes on, see SCHED_BATCH in early.cpp). Turns that
// follow each other this closely and bring little are spaced out instead, while the pipe fills; a
// full pipe is read at once, so a fast writer is never slowed down.
constexpr auto busy_gap = std::chrono::milliseconds(1);
constexpr auto busy_pause = std::chrono::milliseconds(2);
constexpr std::size_t little_bytes = 32u << 10;

}  // namespace

Output::Output(boost::asio::any_io_executor executor)
    : fd_(executor), hold_timer_(executor), pause_timer_(executor), window_(ring_bytes) {}

void Output::start(protocol::UniqueFd fd, std::function<void()> on_end) {
    on_end_ = std::move(on_end);
    // A terminal has no such size, and any other will do.
    is_pipe_ = ::fcntl(fd.get(), F_SETPIPE_SZ, static_cast<int>(pipe_bytes)) > 0;
    fd_.assign(fd.release());  // owned by fd_ from here on
    wait();
}

void Output::wait() {
    if (waiting_ || ended_) return;
    waiting_ = true;
    fd_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [self = shared_from_this()](const boost::system::error_code& error) {
                       self->waiting_ = false;
                       if (!error && !self->ended_) self->read_some();
                   });
}

void Output::pause() {
    waiting_ = true;
    pause_timer_.expires_after(busy_pause);
    pause_timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
        self->waiting_ = false;
        if (!error && !self->ended_) self->read_some();
    });
}

void Output::read_some() {
    const std::uint64_t before = window_.bytes();
    read_turn();
    if (held_ || waiting_ || ended_) return;  // held: progressed() or the hold timer goes on
    const auto now = std::chrono::steady_clock::now();
    const bool close_behind = now - std::exchange(last_turn_, now) < busy_gap + busy_pause;
    const std::uint64_t count = window_.bytes() - before;
    if (close_behind && count > 0 && count < little_bytes) {
        pause();
    } else {
        wait();
    }
}

void Output::read_turn() {
    Listener* const taker = page_taker();
    bool loaded = false;
    bool whole = true;
    for (const auto goal = window_.bytes() + turn_bytes; whole && window_.bytes() < goal;) {
        const std::size_t limit =
            std::min(static_cast<std::size_t>(goal - window_.bytes()), room());
        held_ = limit == 0;
        if (held_) break;
        const std::size_t pages = taker != nullptr ? loadable(*taker, limit) : 0;
        if (pages > 0) {
            loaded = true;
            whole = taker->load(fd_.native_handle(), pages) && read_whole(pages);
        } else if (loaded || !read_piece(limit)) {
            break;  // what was loaded goes before what would now be read
        }
    }
    if (loaded) taker->send_loaded(whole);
}

Output::Listener* Output::page_taker() const {
    return is_pipe_ && holders_.size() == 1 ? holders_.front().listener : nullptr;
}

// Little is copied sooner than handed on.
std::size_t Output::loadable(Listener& taker, std::size_t limit) {
    constexpr std::size_t least = protocol::limits::write_bytes;
    const std::size_t most = std::min({limit, piece_bytes, taker.loadable()});
    int waiting = 0;
    if (most < least || ::ioctl(fd_.native_handle(), FIONREAD, &waiting) < 0) return 0;
    const auto there = static_cast<std::size_t>(std::max(waiting, 0));
    return there < least ? 0 : std::min(most, there);
}

// False: it was not there. Somebody else has read from the pipe; the program itself could.
bool Output::read_whole(std::size_t bytes) {
    const std::uint64_t goal = window_.bytes() + bytes;
    while (window_.bytes() < goal) {
        if (!read_piece(static_cast<std::size_t>(goal - window_.bytes()))) return false;
    }
    return true;
}

void Output::read_rest() {
    if (ended_ || !fd_.is_open()) return;
    int waiting = 0;
    if (::ioctl(fd_.native_handle(), FIONREAD, &waiting) < 0) waiting = 0;
    // One byte more than there is: asking for it finds the end-of-file. A background child that
    // goes on writing can neither make this endless nor take room that was not made for it.
    auto left = static_cast<std::size_t>(std::max(waiting, 0)) + 1;
    if (const auto held = wanted()) window_.enlarge(*held + std::min(left, largest_pipe_bytes + 1));
    while (left > 0 && !ended_) {
        const std::uint64_t before = window_.bytes();
        if (!read_piece(left)) break;
        left -= static_cast<std::size_t>(window_.bytes() - before);
    }
}

bool Output::read_piece(std::size_t limit) {
    const std::span<char> room = window_.prepare(std::min(limit, piece_bytes));
    const ssize_t count = ::read(fd_.native_handle(), room.data(), room.size());
    if (count > 0) {
        window_.commit(static_cast<std::size_t>(count));
        tell_listeners();
        return true;
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    close();  // end-of-file; a terminal's master says EIO when the last program has left it
    return false;
}

void Output::append(std::string_view text) {
    window_.append(text);
    tell_listeners();
}

void Output::tell_listeners() {
    const auto holders = holders_;  // a listener may remove itself
    for (const auto& holder : holders) {
        if (holder.listener != nullptr) holder.listener->on_output();
    }
}

void Output::close() {
    if (std::exchange(ended_, true)) return;
    boost::system::error_code ignored;
    fd_.close(ignored);
    hold_timer_.cancel();
    pause_timer_.cancel();
    window_.finish();
    tell_listeners();
    if (const auto on_end = std::exchange(on_end_, nullptr)) on_end();
}

protocol::OutputReport Output::report() const {
    protocol::OutputReport report;
    report.window = window_.text();
    report.characters = window_.characters();
    report.bytes = window_.bytes();
    return report;
}

void Output::add(Listener& listener) {
    const auto from = listener.held_from();
    if (from) {
        std::erase_if(holders_, [](const Holder& holder) { return holder.listener == nullptr; });
    }
    const std::size_t limit = held_behind(listener.window());
    if (from) window_.enlarge(limit);
    holders_.push_back({&listener, from.value_or(0), limit, std::nullopt});
    progressed();
}

void Output::remove(Listener& listener) {
    std::erase_if(holders_, [&](const Holder& holder) { return holder.listener == &listener; });
    progressed();
}

void Output::reserve(std::uint64_t offset, std::size_t window) {
    if (ended_) return;
    holders_.push_back({nullptr, offset, held_behind(window), std::nullopt});
}

void Output::progressed() {
    if (!held_ || ended_ || room() == 0) return;
    held_ = false;
    hold_until_.reset();
    hold_timer_.cancel();
    // Not read here: the caller is in the middle of something of its own.
    wait();
}

std::size_t Output::room() {
    const auto now = std::chrono::steady_clock::now();
    std::size_t room = std::numeric_limits<std::size_t>::max();
    TimePoint next = TimePoint::max();
    for (auto& holder : holders_) {
        if (holder.listener != nullptr) {
            const auto from = holder.listener->held_from();
            if (!from) continue;
            if (std::exchange(holder.from, *from) != *from) holder.stuck_since.reset();
        }
        const std::uint64_t behind = raw().end() - std::min(holder.from, raw().end());
        const bool waits = holder.listener != nullptr && holder.listener == page_taker() &&
                           holder.listener->waits_for_credit();
        if (behind < holder.limit && !waits) {
            room = std::min<std::size_t>(room, holder.limit - behind);
            continue;
        }
        if (!holder.stuck_since) holder.stuck_since = now;
        const auto limit = *holder.stuck_since + protocol::limits::lossless_hold;
        if (now >= limit) continue;  // held the command back for long enough
        room = 0;
        next = std::min(next, limit);
    }
    if (room == 0) hold_until(next);
    return room;
}

std::optional<std::size_t> Output::wanted() const {
    std::optional<std::size_t> most;
    for (const auto& holder : holders_) {
        const auto from = holder.listener != nullptr ? holder.listener->held_from() : holder.from;
        if (!from) continue;
        const std::uint64_t behind = raw().end() - std::min(*from, raw().end());
        most = std::max(most.value_or(0), std::min<std::size_t>(behind, holder.limit));
    }
    return most;
}

void Output::hold_until(TimePoint when) {
    if (hold_until_ == when) return;
    hold_until_ = when;
    hold_timer_.expires_at(when);
    hold_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
        if (const auto self = weak.lock(); self && !error) self->progressed();
    });
}

}  // namespace guest_agent
