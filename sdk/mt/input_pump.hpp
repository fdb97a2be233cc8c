#pragma once
// InputPump: carries standard input to a command, in a thread and over a connection of its own.
// Each piece is sent with its offset and repeated after a lost connection, so none is lost or
// doubled.

#include "sdk/cpp/client.hpp"

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

    sdk::Interrupt stop_;
    std::string run_, command_;
    int fd_;
    std::thread thread_;
};

}  // namespace mt
