#pragma once
// CountedFollower: a live follower that its command's queue knows of, so that the agent is not told
// to forget a command while somebody reads from it.

#include "host/sandbox/command_queue.hpp"

#include <memory>
#include <utility>

namespace host::sandbox {

class CountedFollower final : public Follower {
  public:
    CountedFollower(std::shared_ptr<Follower> follower, std::shared_ptr<CommandQueue> queue,
                    std::shared_ptr<LiveCommand> command)
        : follower_(std::move(follower)), queue_(std::move(queue)), command_(std::move(command)) {
        queue_->on_follower(command_, +1);
    }
    ~CountedFollower() override { close(); }

    Async<std::optional<Chunk>> read() override { return follower_->read(); }
    void close() override {
        follower_->close();
        if (std::exchange(counted_, false)) queue_->on_follower(command_, -1);
    }

  private:
    std::shared_ptr<Follower> follower_;
    std::shared_ptr<CommandQueue> queue_;
    std::shared_ptr<LiveCommand> command_;
    bool counted_ = true;
};

}  // namespace host::sandbox
