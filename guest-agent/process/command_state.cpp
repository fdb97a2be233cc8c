#include "guest-agent/process/command_state.hpp"

#include <csignal>

namespace guest_agent {
namespace {

constexpr std::int32_t signal_base = 128;  // what shells report for a death by signal
constexpr std::int32_t timed_out_code = 124;
constexpr std::int32_t killed_code = signal_base + SIGKILL;

}  // namespace

Verdict CommandState::killed_verdict(Cause cause) {
    Verdict verdict;
    verdict.kind = cause == Cause::limit ? "timedOut" : "killed";
    verdict.code = cause == Cause::limit ? timed_out_code : killed_code;
    return verdict;
}

CommandStep CommandState::kill_for(Cause cause) {
    CommandStep step;
    if (phase_ != Phase::running) {
        // Over, but what it left behind can still be killed by request; a late limit has no say.
        step.kill_tree = cause == Cause::request;
        return step;
    }
    if (cause_ == Cause::none) {
        cause_ = cause;
        step.arm_grace = true;
    }
    step.kill_tree = true;
    step.disarm_limit = true;
    return step;
}

CommandStep CommandState::reaped(const ProcessEnd& end) {
    if (phase_ != Phase::running) return {};
    if (end.failed_to_start) {
        verdict_ = *end.failed_to_start;
    } else if (!end.signaled) {
        verdict_.kind = "exited";  // also when a kill came a moment too late
        verdict_.code = end.value;
    } else if (end.value == SIGKILL && cause_ != Cause::none) {
        verdict_ = killed_verdict(cause_);
    } else if (end.value == SIGKILL && end.out_of_memory) {
        verdict_.kind = "outOfMemory";
        verdict_.code = killed_code;
    } else {
        verdict_.kind = "signaled";
        verdict_.code = signal_base + end.value;
        verdict_.signal = end.value;
    }
    phase_ = Phase::draining;
    if (outputs_ended_) return report();
    CommandStep step;
    step.disarm_limit = true;
    step.arm_drain = true;
    return step;
}

CommandStep CommandState::outputs_ended() {
    outputs_ended_ = true;
    if (phase_ == Phase::draining) return report();
    CommandStep step;
    if (phase_ == Phase::reported) {
        phase_ = Phase::closed;
        step.close = true;
    }
    return step;
}

CommandStep CommandState::drain_elapsed() {
    if (phase_ != Phase::draining) return {};
    return report();
}

CommandStep CommandState::grace_elapsed() {
    if (phase_ != Phase::running) return {};
    verdict_ = killed_verdict(cause_);
    return report();
}

CommandStep CommandState::report() {
    CommandStep step;
    step.disarm_limit = true;
    step.report = true;
    phase_ = Phase::reported;
    if (outputs_ended_) {
        phase_ = Phase::closed;
        step.close = true;
    }
    return step;
}

}  // namespace guest_agent
