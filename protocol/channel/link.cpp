#include "protocol/channel/link.hpp"

#include "protocol/channel/page_carrier.hpp"
#include "protocol/channel/port_presence.hpp"

#include <cerrno>
#include <cstdlib>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

namespace protocol {
namespace {

using boost::system::error_code;

constexpr std::size_t read_bytes = 128u << 10;
// Written in one go before reading gets its turn.
constexpr std::size_t write_burst_bytes = 1u << 20;
// A port without a peer is always readable and reads 0, so only a timer can wait for its return.
constexpr auto poll_interval = std::chrono::milliseconds(50);

Nonce random_nonce() {
    Nonce nonce;
    // 8 bytes are never cut short, and nothing can go on without them.
    while (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size())) {
        if (errno != EINTR) std::abort();
    }
    return nonce;
}

bool is_socket(int fd) {
    int type = 0;
    socklen_t size = sizeof type;
    return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

}  // namespace

// Descriptors are waited for, then read and written here: an asynchronous write would hold on to
// output() while feed() changes it.
class Link::Impl {
  public:
    Impl(boost::asio::any_io_executor executor, UniqueFd fd, Role role, std::string hello,
         EndOfFile end_of_file, LinkObserver& observer)
        : descriptor_(executor),
          tick_timer_(executor),
          poll_timer_(executor),
          is_socket_(is_socket(fd.get())),
          end_of_file_(end_of_file),
          session_(role, std::move(hello), role == Role::host ? random_nonce() : Nonce{},
                   std::chrono::steady_clock::now()),
          observer_(&observer),
          buffer_(read_bytes) {
        if (end_of_file == EndOfFile::polls) carrier_ = PageCarrier::make();
        error_code error;
        descriptor_.assign(fd.get(), error);
        if (error) {
            start_error_ = error;
        } else {
            (void)fd.release();  // the descriptor object closes it now
        }
    }

    Session& session() { return session_; }

    void start(const std::shared_ptr<Link>& self) {
        if (start_error_) return cannot_wait(self, start_error_);
        wait_readable(self);
        arm_tick(self);
        flush(self);
    }

    void flush(const std::shared_ptr<Link>& self) {
        write_some(self);
        if (!delivering_ && !closed_) post_delivery(self);
    }

    void close(const std::shared_ptr<Link>& self, std::string reason) {
        if (closed_) return;
        Failure why(Kind::unavailable, "closed: " + reason);
        session_.bye(std::move(reason));
        write_some(self);
        close_with(self, std::move(why));
    }

    void detach() {
        observer_ = nullptr;
        shut();
    }

    bool carries_pages() const { return carrier_.has_value() && !closed_; }

    std::size_t loadable(const std::shared_ptr<Link>& self, StreamId stream, Channel channel) {
        if (!carries_pages()) return 0;
        if (!session_.idle()) write_some(self);
        if (closed_ || !session_.idle()) return 0;
        return session_.sendable(stream, channel) - loaded_bytes_;
    }

    bool load(StreamId stream, Channel channel, int pipe, std::size_t bytes) {
        Frame frame;
        frame.kind = FrameKind::data;
        frame.stream = stream;
        frame.channel = channel;
        std::string header;
        encode_frame_header(frame, bytes, header);
        loaded_bytes_ += bytes;
        return carrier_->load(header, pipe, bytes);
    }

    bool send_loaded(const std::shared_ptr<Link>& self, StreamId stream, Channel channel) {
        std::string rest;
        const std::size_t bytes = std::exchange(loaded_bytes_, 0);
        switch (carrier_->send(descriptor_.native_handle(), rest)) {
            case PageCarrier::Sent::none:
                return false;
            case PageCarrier::Sent::broken:
                // Nothing can follow the beginning of that frame.
                close_with(self, Failure(Kind::io, "the port has dropped the end of a frame"));
                return true;
            case PageCarrier::Sent::all:
            case PageCarrier::Sent::part:
                session_.moved(stream, channel, bytes, std::move(rest));
                write_some(self);
                return true;
        }
        return false;
    }

    void unload() {
        loaded_bytes_ = 0;
        carrier_->unload();
    }

  private:
    void shut() {
        closed_ = true;
        error_code ignored;
        descriptor_.close(ignored);
        tick_timer_.cancel();
        poll_timer_.cancel();
    }

    void close_with(const std::shared_ptr<Link>& self, Failure why) {
        if (closed_) return;
        shut();
        // Posted, so that nobody is called back from inside their own call.
        boost::asio::post(descriptor_.get_executor(), [self, this, why = std::move(why)] {
            if (LinkObserver* observer = std::exchange(observer_, nullptr)) {
                observer->on_closed(why);
            }
        });
    }

    // What the session still wants to say (its bye) goes out if the transport takes it at once.
    void fail_with(const std::shared_ptr<Link>& self, Failure why) {
        write_some(self);
        close_with(self, std::move(why));
    }

    void cannot_wait(const std::shared_ptr<Link>& self, error_code error) {
        close_with(self,
                   Failure(Kind::io, "the host link's descriptor cannot be waited for", error));
    }

    void wait_readable(const std::shared_ptr<Link>& self) {
        descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                               [self, this](error_code error) {
                                   if (closed_) return;
                                   if (error) return cannot_wait(self, error);
                                   read_some(self);
                               });
    }

    void read_some(const std::shared_ptr<Link>& self) {
        const ssize_t count = ::read(descriptor_.native_handle(), buffer_.data(), buffer_.size());
        if (count < 0) {
            if (errno == EAGAIN) presence_.read_nothing();
            if (errno == EAGAIN || errno == EINTR) return wait_readable(self);
            return close_with(self, Failure::from_errno("read from the host link", errno));
        }
        const auto now = std::chrono::steady_clock::now();
        if (count == 0) return end_of_file(self, now);
        presence_.read_bytes(now);
        const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(count));
        auto fed = session_.feed(bytes, now);
        deliver(self);
        if (closed_) return;
        if (!fed) return fail_with(self, std::move(fed).error());
        flush(self);
        if (closed_) return;
        if (session_.backlogged()) {
            reading_held_ = true;  // deliver() goes on
        } else {
            wait_readable(self);
        }
    }

    void end_of_file(const std::shared_ptr<Link>& self, TimePoint now) {
        if (end_of_file_ == EndOfFile::closes) {
            return close_with(self, Failure(Kind::unavailable, "the peer closed the host link"));
        }
        if (presence_.read_zero(now)) session_.interrupted();
        poll_timer_.expires_after(poll_interval);
        poll_timer_.async_wait([self, this](error_code error) {
            if (error || closed_) return;
            read_some(self);
            write_some(self);
        });
    }

    void write_some(const std::shared_ptr<Link>& self) {
        std::size_t burst = 0;
        while (!closed_ && !waiting_writable_) {
            const std::string_view bytes = session_.output();
            if (bytes.empty()) return;
            if (burst >= write_burst_bytes) return wait_writable(self);
            // No SIGPIPE for a peer that has gone; a port is no socket and raises none.
            const ssize_t count =
                is_socket_
                    ? ::send(descriptor_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL)
                    : ::write(descriptor_.native_handle(), bytes.data(), bytes.size());
            if (count < 0) {
                if (errno == EINTR) continue;
                if (errno == EAGAIN) return cannot_write_now(self);
                return write_failed(self, errno);
            }
            session_.written(static_cast<std::size_t>(count));
            burst += static_cast<std::size_t>(count);
        }
    }

    // What the peer said before it went is still to be read, and tells more than EPIPE does.
    void write_failed(const std::shared_ptr<Link>& self, int error_number) {
        if (error_number == EPIPE && end_of_file_ == EndOfFile::closes) {
            waiting_writable_ = true;  // nothing more can be written; the reader sees the end
            return;
        }
        close_with(self, Failure::from_errno("write to the host link", error_number));
    }

    // A port without a host would be reported as writable without end; the poll timer tries again.
    void cannot_write_now(const std::shared_ptr<Link>& self) {
        if (end_of_file_ == EndOfFile::polls && presence_.away()) return;
        wait_writable(self);
    }

    void wait_writable(const std::shared_ptr<Link>& self) {
        waiting_writable_ = true;
        descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_write,
                               [self, this](error_code error) {
                                   if (closed_) return;
                                   if (error) return cannot_wait(self, error);
                                   waiting_writable_ = false;
                                   write_some(self);
                                   deliver(self);
                               });
    }

    // Events that arise while one is being handled are handled after it.
    void deliver(const std::shared_ptr<Link>& self) {
        if (delivering_) return;
        delivering_ = true;
        while (!closed_ && !session_.backlogged()) {
            std::optional<SessionEvent> event = session_.next_event();
            if (!event) break;
            observer_->on_event(std::move(*event));
        }
        delivering_ = false;
        if (!closed_) write_some(self);
        if (!closed_) post_delivery(self);
        if (!closed_ && !session_.backlogged() && std::exchange(reading_held_, false)) {
            wait_readable(self);
        }
    }

    // With a backlog, once that has been written.
    void post_delivery(const std::shared_ptr<Link>& self) {
        if (!session_.has_events() || session_.backlogged() || delivery_posted_) return;
        delivery_posted_ = true;
        boost::asio::post(descriptor_.get_executor(), [self, this] {
            delivery_posted_ = false;
            if (!closed_) deliver(self);
        });
    }

    void arm_tick(const std::shared_ptr<Link>& self) {
        tick_timer_.expires_after(limits::tick);
        tick_timer_.async_wait([self, this](error_code error) {
            if (error || closed_) return;
            if (auto ticked = session_.tick(std::chrono::steady_clock::now()); !ticked) {
                return fail_with(self, std::move(ticked).error());
            }
            flush(self);
            arm_tick(self);
        });
    }

    boost::asio::posix::stream_descriptor descriptor_;
    boost::asio::steady_timer tick_timer_;
    boost::asio::steady_timer poll_timer_;
    const bool is_socket_;
    const EndOfFile end_of_file_;
    PortPresence presence_;  // for EndOfFile::polls
    Session session_;
    LinkObserver* observer_;
    std::vector<char> buffer_;
    std::optional<PageCarrier> carrier_;
    std::size_t loaded_bytes_ = 0;  // of payloads
    error_code start_error_;
    bool waiting_writable_ = false;
    bool delivering_ = false;
    bool reading_held_ = false;
    bool delivery_posted_ = false;
    bool closed_ = false;
};

std::shared_ptr<Link> Link::make(boost::asio::any_io_executor executor, UniqueFd fd, Role role,
                                 std::string hello, EndOfFile end_of_file, LinkObserver& observer) {
    auto impl = std::make_unique<Impl>(std::move(executor), std::move(fd), role, std::move(hello),
                                       end_of_file, observer);
    // The constructor is private, which make_shared cannot call.
    return std::shared_ptr<Link>(new Link(std::move(impl)));
}

Link::Link(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Link::~Link() = default;

void Link::start() {
    impl_->start(shared_from_this());
}
Session& Link::session() {
    return impl_->session();
}
void Link::flush() {
    impl_->flush(shared_from_this());
}
bool Link::carries_pages() const {
    return impl_->carries_pages();
}
std::size_t Link::loadable(StreamId stream, Channel channel) {
    return impl_->loadable(shared_from_this(), stream, channel);
}
bool Link::load(StreamId stream, Channel channel, int pipe, std::size_t bytes) {
    return impl_->load(stream, channel, pipe, bytes);
}
bool Link::send_loaded(StreamId stream, Channel channel) {
    return impl_->send_loaded(shared_from_this(), stream, channel);
}
void Link::unload() {
    impl_->unload();
}
void Link::close(std::string reason) {
    impl_->close(shared_from_this(), std::move(reason));
}
void Link::detach() {
    impl_->detach();
}

}  // namespace protocol
