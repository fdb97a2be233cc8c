#pragma once
// The life of one command as a pure state machine: what happened goes in, what to do comes out. It
// decides when a command is over, what its verdict is, and that both are said exactly once.
//
//   running --reaped--> draining --(outputs at end | drain time over)--> reported --outputs at
//   end--> closed running --(killed, not gone within kill_grace)--> reported
//
// Fields of Verdict: kind "exited" (code), "signaled" (code, signal), "timedOut", "outOfMemory",
// "killed" (code), "failedToStart" (code, message).

#include <cstdint>
#include <optional>
#include <string>

namespace guest_agent {

struct Verdict {
    Verdict() = default;
    std::string kind;
    std::int32_t code{};
    std::optional<std::int32_t> signal;
    std::optional<std::string> message;
};

// What the reaper learnt about the command's own process.
struct ProcessEnd {
    ProcessEnd() = default;
    bool signaled = false;
    int value = 0;               // exit status or signal number
    bool out_of_memory = false;  // something of this command was ended for want of memory
    std::optional<Verdict> failed_to_start;
};

// What the owner has to do, in this order.
struct CommandStep {
    CommandStep() = default;
    bool kill_tree = false;
    bool arm_grace = false;  // grace_elapsed() after kill_grace
    bool disarm_limit = false;
    bool arm_drain = false;  // drain_elapsed() after limits::drain
    bool report = false;     // the command is over: verdict() is final
    bool close = false;      // no more output can come
};

class CommandState {
  public:
    CommandStep limit_reached() { return kill_for(Cause::limit); }
    CommandStep kill_requested() { return kill_for(Cause::request); }
    CommandStep reaped(const ProcessEnd& end);
    // Both outputs have reached end-of-file.
    CommandStep outputs_ended();
    CommandStep drain_elapsed();
    CommandStep grace_elapsed();

    bool over() const { return phase_ >= Phase::reported; }  // its report is final
    bool closed() const { return phase_ == Phase::closed; }
    bool process_alive() const { return phase_ == Phase::running; }
    const Verdict& verdict() const { return verdict_; }

  private:
    enum class Phase : std::uint8_t { running, draining, reported, closed };
    enum class Cause : std::uint8_t { none, request, limit };

    CommandStep kill_for(Cause cause);
    CommandStep report();
    static Verdict killed_verdict(Cause cause);

    Phase phase_ = Phase::running;
    Cause cause_ = Cause::none;  // the first one that killed it
    bool outputs_ended_ = false;
    Verdict verdict_;
};

}  // namespace guest_agent
