#pragma once
// Link: pumps a Session over a non-blocking descriptor (AF_VSOCK or Unix socket, virtio-serial
// port) with Asio. Thin on purpose: every rule is in Session.
//
// Threading: all calls and callbacks on the executor's thread; never concurrently.
// Lifetime: own it by shared_ptr (make()); pending operations keep it alive after close().

#include "protocol/base/result.hpp"
#include "protocol/base/unique_fd.hpp"
#include "protocol/session/session.hpp"

#include <memory>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace protocol {

class LinkObserver {
  public:
    virtual ~LinkObserver() = default;
    virtual void on_event(SessionEvent event) = 0;
    // The transport or the session failed, or close() was called. Called exactly once, last.
    virtual void on_closed(const Failure& why) = 0;
};

// What to do when read() returns 0. A virtio-serial port in the guest reads 0 while the host side
// is disconnected and works again later; it must be polled by timer or the process spins.
enum class EndOfFile : std::uint8_t { closes, polls };

class Link : public std::enable_shared_from_this<Link> {
  public:
    // The descriptor must be non-blocking. `observer` must outlive the link's last callback; hold
    // it weakly through detach() if it may go first.
    static std::shared_ptr<Link> make(boost::asio::any_io_executor executor, UniqueFd fd, Role role,
                                      std::string hello, EndOfFile end_of_file,
                                      LinkObserver& observer);
    void start();
    // Call flush() after using it, once per batch.
    Session& session();
    void flush();

    // ---- pages: the guest's end of a virtio-serial port only, see PageCarrier ----
    bool carries_pages() const;
    // How much data load() would take now: 0 without credit, and while anything waits to be
    // written.
    std::size_t loadable(StreamId stream, Channel channel);
    // Takes the next `bytes` that `pipe` holds as one frame (at most limits::data_payload_bytes,
    // and no more than loadable()). They stay in the pipe; who reads them before send_loaded()
    // spares the kernel a copy. False: what has been loaded so far must be unloaded.
    bool load(StreamId stream, Channel channel, int pipe, std::size_t bytes);
    // Sends what has been loaded, of one channel, before anything that was given to the session
    // meanwhile. False: nothing of it has been sent.
    bool send_loaded(StreamId stream, Channel channel);
    void unload();

    // Sends bye, flushes what can be written at once, closes; on_closed follows (posted).
    void close(std::string reason);
    // No callback after this returns.
    void detach();
    ~Link();

  private:
    class Impl;
    explicit Link(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace protocol
