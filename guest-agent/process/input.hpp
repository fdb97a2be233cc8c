#pragma once
// Input: the standard input of a command that has one. Takes bytes at absolute offsets, so that a
// sender that lost its connection can go on without repeating or losing any, and writes them as the
// program reads. Outlives connections; ends with the command. Threading: the loop thread. Lifetime:
// shared; a pending write keeps it alive until close().

#include "protocol/base/unique_fd.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/posix/stream_descriptor.hpp>

namespace guest_agent {

enum class InputKind : std::uint8_t { pipe, terminal };

class Input : public std::enable_shared_from_this<Input> {
  public:
    class Listener {
      public:
        virtual ~Listener() = default;
        // So many of the bytes put have reached the program, or were dropped because it reads no
        // more.
        virtual void on_input_written(std::size_t bytes) = 0;
        // End-of-file was passed on, or nothing is read any more. Once, last.
        virtual void on_input_closed() = 0;
    };

    explicit Input(boost::asio::any_io_executor executor) : fd_(executor) {}
    void start(protocol::UniqueFd fd, InputKind kind);

    std::uint64_t taken() const { return taken_; }  // offset of the next byte to put
    bool closed() const { return last_ || !open_; }
    std::size_t pending() const { return pending_.size(); }
    // At most one listener: a new one takes over, and the old one is told that it is closed.
    void listen(Listener& listener);
    void unlisten(Listener& listener);
    // `last`: end-of-file after these. Whatever comes after end-of-file is dropped.
    void put(std::string_view bytes, bool last);
    // Nobody reads any more.
    void close();

  private:
    void write_some();
    void wait();
    void finish();

    boost::asio::posix::stream_descriptor fd_;
    InputKind kind_ = InputKind::pipe;
    Listener* listener_ = nullptr;
    std::string pending_;
    std::uint64_t taken_ = 0;
    bool open_ = false;
    bool last_ = false;
    bool waiting_ = false;
};

}  // namespace guest_agent
