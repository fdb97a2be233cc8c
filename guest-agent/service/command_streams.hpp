#pragma once
// The streams of commands: start (and attach), follow, input. Each serves one stream of one
// connection and observes a Command that outlives it. Threading: the loop thread.

#include "guest-agent/process/command.hpp"
#include "guest-agent/service/streams.hpp"

#include <array>
#include <memory>
#include <optional>

namespace guest_agent {

// command.start: event started, event exited, end; whatever of it has happened already comes at
// once.
class StartStream final : public StreamHandler, private Command::Observer {
  public:
    StartStream(Streams& streams, protocol::StreamId id, std::shared_ptr<Command> command);
    ~StartStream() override;
    void start() override;

  private:
    void on_exited(Command& command) override;
    void on_ended(Command& command) override;

    std::shared_ptr<Command> command_;
};

// command.follow: raw output from given offsets.
class FollowStream final : public StreamHandler, private Command::Observer {
  public:
    FollowStream(Streams& streams, protocol::StreamId id, std::shared_ptr<Command> command,
                 const protocol::CommandFollow& request);
    ~FollowStream() override;
    void start() override;
    void on_writable(protocol::Channel channel) override;
    void on_lost() override;

  private:
    // One of the two outputs, as far as it has been sent. A Listener of its own, because an output
    // asks it for its offset.
    class Reader final : public Output::Listener {
      public:
        Reader(FollowStream& owner, Output& output, protocol::Channel channel, std::uint64_t from,
               bool lossless);
        void on_output() override { owner_.pump(); }
        std::optional<std::uint64_t> held_from() const override;
        std::size_t window() const override { return owner_.window_; }
        std::size_t loadable() override;
        bool load(int pipe, std::size_t bytes) override;
        void send_loaded(bool whole) override;
        bool waits_for_credit() override;
        // Sends what it can. True when it has sent something.
        bool pump();
        protocol::Link* page_link() const;

        FollowStream& owner_;
        Output& output_;
        protocol::Channel channel_;
        std::uint64_t from_;    // where the consumer began
        std::uint64_t offset_;  // next byte to send
        bool lossless_;
        std::optional<std::uint64_t> loaded_from_;  // what was loaded ends at offset_
        bool half_closed_ = false;
        std::uint64_t exit_offset_ = 0;  // bytes there were when the command was over
    };

    void on_exited(Command& command) override;
    void on_ended(Command&) override {}
    void pump();

    std::shared_ptr<Command> command_;
    std::uint32_t window_;
    std::array<Reader, 2> readers_;
    bool exited_ = false;
    bool exited_sent_ = false;
};

// command.input: bytes for the command's standard input.
class InputStream final : public StreamHandler, private Input::Listener {
  public:
    InputStream(Streams& streams, protocol::StreamId id, std::shared_ptr<Command> command,
                const protocol::CommandInput& request);
    ~InputStream() override;
    void start() override;
    void on_data(protocol::Channel channel, std::string_view bytes, bool last) override;

  private:
    void on_input_written(std::size_t bytes) override;
    void on_input_closed() override;

    std::shared_ptr<Command> command_;
    std::uint64_t from_;          // offset of the next byte that arrives
    std::size_t uncredited_ = 0;  // arrived here and not yet written to the program
};

}  // namespace guest_agent
