#pragma once
// DecisionLog: one line for each request that was allowed or refused, with its run, at a bounded
// rate per run, so that a capsule cannot fill the host's disk with its refusals.

#include "host/egress/target.hpp"

#include <chrono>
#include <map>
#include <string>
#include <string_view>

namespace host::egress {

class DecisionLog {
  public:
    using Clock = std::chrono::steady_clock;

    // Foreign parts are escaped here. `address`: what was connected to, or "".
    void allowed(const std::string& run, const Target& target, std::string_view address);
    void refused(const std::string& run, std::string_view method, std::string_view where,
                 std::string_view why);
    // The run's last connection is gone; reports what was left out.
    void forget(const std::string& run);

    // False: this line is left out and counted.
    bool admits(const std::string& run, Clock::time_point now);

  private:
    struct Budget {
        double lines = 0;
        Clock::time_point at{};
        std::uint64_t left_out = 0;
    };
    void report_left_out(const std::string& run, Budget& budget);

    std::map<std::string, Budget> budgets_;
};

}  // namespace host::egress
