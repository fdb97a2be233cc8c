#pragma once
// OutputFollower: the live output of one command, from byte offsets, over one connection of its
// own. One thread. When the connection is lost, make another follower at the offsets reached.

#include "sdk/cpp/connection.hpp"
#include "sdk/cpp/output_records.hpp"

namespace sdk {

struct OutputOffsets {
    OutputOffsets() = default;
    std::uint64_t standard = 0, error = 0;
};

class OutputFollower {
  public:
    explicit OutputFollower(Settings settings) : connection_(std::move(settings)) {}

    // Waits until the command has been started, for as long as that takes. After "interrupted" it
    // has to be called again. "command-ended": nothing can be followed any more.
    Result<void> open(const std::string& run, const std::string& command, OutputOffsets from);
    // nullopt: the daemon has nothing more to send. Repeatable after "interrupted". The daemon says
    // something at least every ten seconds; much longer silence is "connection-lost".
    Result<std::optional<OutputRecord>> next();

  private:
    Connection connection_;
    OutputRecords records_;
};

}  // namespace sdk
