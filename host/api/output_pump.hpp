#pragma once
// OutputPump: moves a command's live output from its follower to the client as records. Reads the
// next piece only when the last one was taken by the socket, so a slow client holds the guest back;
// sends a keep-alive record after limits::keep_alive of silence.

#include "host/api/exchange.hpp"
#include "host/api/output_record.hpp"

#include <memory>
#include <optional>

namespace host::api {

class OutputPump {
  public:
    OutputPump(Exchange& exchange, std::shared_ptr<sandbox::Follower> follower, protocol::RunId run,
               protocol::CommandId command);

    // Returns when everything was sent. A failure: the answer is not whole and must be cut off.
    // The object must outlive the coroutine.
    sandbox::Async<void> run();

  private:
    using Piece = protocol::Result<std::optional<sandbox::Follower::Chunk>>;

    sandbox::Async<void> read_loop();
    sandbox::Async<void> write_loop();
    sandbox::Async<void> send_chunk(sandbox::Follower::Chunk chunk);
    sandbox::Async<void> send_end();
    sandbox::Async<void> send_record(OutputRecordType type, std::uint8_t stream,
                                     std::uint64_t offset, std::string payload);

    Exchange& exchange_;
    std::shared_ptr<sandbox::Follower> follower_;
    protocol::RunId run_;
    protocol::CommandId command_;
    std::optional<Piece> slot_;  // read and not yet written
    bool end_sent_ = false;
    Wake filled_, emptied_;
};

}  // namespace host::api
