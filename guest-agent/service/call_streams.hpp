#pragma once
// Streams of single calls: one whose answer takes a while, and one that brings a secret's bytes.
// Threading: the loop thread.

#include "guest-agent/service/machine.hpp"
#include "guest-agent/service/streams.hpp"

#include <string>

namespace guest_agent {

// Waits for finish(); whoever answers holds it weakly, since the connection may go first.
class PendingStream final : public StreamHandler {
  public:
    using StreamHandler::StreamHandler;
};

// secret.write
class SecretStream final : public StreamHandler {
  public:
    SecretStream(Streams& streams, protocol::StreamId id, Machine& machine,
                 protocol::SecretWrite request);
    ~SecretStream() override;
    void on_data(protocol::Channel channel, std::string_view bytes, bool last) override;

  private:
    Machine& machine_;
    protocol::SecretWrite request_;
    std::string bytes_;
};

}  // namespace guest_agent
