#include "guest-agent/process/input.hpp"

#include "guest-agent/process/terminal.hpp"

#include <cerrno>
#include <unistd.h>
#include <utility>

namespace guest_agent {

void Input::start(protocol::UniqueFd fd, InputKind kind) {
    fd_.assign(fd.release());  // owned by fd_ from here on
    kind_ = kind;
    open_ = true;
}

void Input::listen(Listener& listener) {
    auto* const before = std::exchange(listener_, &listener);
    if (before != nullptr) before->on_input_closed();
}

void Input::unlisten(Listener& listener) {
    if (listener_ == &listener) listener_ = nullptr;
}

void Input::put(std::string_view bytes, bool last) {
    taken_ += bytes.size();
    if (!open_ || last_) {
        if (listener_ != nullptr) listener_->on_input_written(bytes.size());
        return;
    }
    pending_.append(bytes);
    last_ = last;
    // A terminal has no other end-of-file than its character.
    if (last && kind_ == InputKind::terminal)
        pending_ += end_of_file_character(fd_.native_handle());
    if (!waiting_) write_some();
}

void Input::write_some() {
    std::size_t written = 0;
    while (written < pending_.size()) {
        const ssize_t count =
            ::write(fd_.native_handle(), pending_.data() + written, pending_.size() - written);
        if (count > 0) {
            written += static_cast<std::size_t>(count);
        } else if (errno != EINTR) {
            break;
        }
    }
    const bool blocked = errno == EAGAIN;
    const bool all = written == pending_.size();
    pending_.erase(0, written);
    if (!all && !blocked) return close();  // EPIPE: the program has closed its end
    const auto self = shared_from_this();
    if (written > 0 && listener_ != nullptr) listener_->on_input_written(written);
    if (!open_) return;
    if (!all) return wait();
    if (last_) finish();
}

void Input::wait() {
    waiting_ = true;
    fd_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                   [self = shared_from_this()](const boost::system::error_code& error) {
                       self->waiting_ = false;
                       if (!error && self->open_) self->write_some();
                   });
}

void Input::finish() {
    // A terminal stays open: its end is the command's end.
    if (kind_ == InputKind::pipe) return close();
    if (auto* listener = std::exchange(listener_, nullptr)) listener->on_input_closed();
}

void Input::close() {
    if (!std::exchange(open_, false)) return;
    boost::system::error_code ignored;
    fd_.close(ignored);
    const std::size_t dropped = std::exchange(pending_, {}).size();
    auto* listener = std::exchange(listener_, nullptr);
    if (listener == nullptr) return;
    if (dropped > 0) listener->on_input_written(dropped);
    listener->on_input_closed();
}

}  // namespace guest_agent
