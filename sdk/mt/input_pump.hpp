#pragma once
// InputPump: carries standard input to a command, in a thread and over a connection of its own.
// After a lost connection it goes on at an offset that the machine has, so nothing is lost or
// doubled.

#include "sdk/cpp/client.hpp"
#include "sdk/cpp/input_tail.hpp"

#include <thread>

namespace mt {

class InputPump {
  public:
    InputPump(sdk::Settings settings, std::string run, std::string command, int fd);
    ~InputPump();  // stops, even while the program leaves its input unread
    InputPump(const InputPump&) = delete;
    InputPump& operator=(const InputPump&) = delete;

  private:
    void pump(sdk::Client client);
    protocol::Result<void> send(sdk::Client& client);
    protocol::Result<std::size_t> read(char* data, std::size_t size);

    sdk::Interrupt stop_;
    std::string run_, command_;
    int fd_;
    // Of the thread:
    sdk::InputTail tail_;
    bool at_end_ = false;
    std::thread thread_;
};

}  // namespace mt
