#pragma once
// SignalTrap: turns signals into something to wait for. While one exists its signals only count and
// raise its interrupt. At most one at a time; main thread.

#include "sdk/cpp/interrupt.hpp"

#include <csignal>
#include <initializer_list>
#include <vector>

namespace mt {

class SignalTrap {
  public:
    explicit SignalTrap(std::initializer_list<int> signals);
    ~SignalTrap();
    SignalTrap(const SignalTrap&) = delete;
    SignalTrap& operator=(const SignalTrap&) = delete;

    const sdk::Interrupt& interrupt() const { return interrupt_; }
    // How often one of the signals came.
    int count() const;

  private:
    sdk::Interrupt interrupt_;
    std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace mt
