#include "guest-agent/process/command.hpp"

#include "guest-agent/process/spawn.hpp"
#include "guest-agent/process/terminal.hpp"
#include "protocol/wire/limits.hpp"

#include <algorithm>
#include <fcntl.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

namespace guest_agent {

using protocol::Kind;
using protocol::Result;
using std::chrono::steady_clock;

Command::Command(CommandContext& context, std::string id)
    : context_(context),
      id_(std::move(id)),
      output_(std::make_shared<Output>(context.executor)),
      error_(std::make_shared<Output>(context.executor)),
      limit_timer_(context.executor),
      drain_timer_(context.executor),
      grace_timer_(context.executor),
      started_(steady_clock::now()) {}

void Command::start(const Result<SpawnPlan>& plan, const protocol::CommandStart& request) {
    if (!plan) return fail_to_start(plan.error().message());
    if (const auto launched = launch(*plan); !launched) {
        return fail_to_start(launched.error().describe());
    }
    if (request.hold_output) {
        output_->reserve(0);
        error_->reserve(0);
    }
    if (request.limit_ms) {
        // Bounded so that adding it to the clock cannot overflow.
        constexpr std::uint64_t longest_ms = 366ULL * 24 * 3'600 * 1'000;
        const auto limit = std::chrono::milliseconds(std::min(*request.limit_ms, longest_ms));
        arm(limit_timer_, limit, &CommandState::limit_reached);
    }
}

Result<void> Command::launch(const SpawnPlan& plan) {
    plan_ = plan;
    TRY(group_, context_.groups.make(id_));
    TRY(SpawnedProcess process, spawn(plan_, group_->directory()));
    pid_ = process.pid;
    status_ = std::move(process.status);
    context_.reaper.watch(pid_, [weak = weak_from_this()](bool signaled, int value) {
        if (const auto self = weak.lock()) self->on_reaped(signaled, value);
    });
    const auto on_end = [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->on_output_end();
    };
    if (process.input) {
        const bool terminal = plan_.input == InputSource::terminal;
        if (terminal) terminal_.reset(::fcntl(process.input.get(), F_DUPFD_CLOEXEC, 3));
        input_ = std::make_shared<Input>(context_.executor);
        input_->start(std::move(process.input), terminal ? InputKind::terminal : InputKind::pipe);
    }
    if (process.error) {
        error_->start(std::move(process.error), on_end);
    } else {
        error_->close();  // everything a terminal shows is on the one output
    }
    output_->start(std::move(process.output), on_end);
    return {};
}

void Command::fail_to_start(const std::string& message) {
    ProcessEnd end;
    end.failed_to_start.emplace();
    end.failed_to_start->kind = "failedToStart";
    end.failed_to_start->code = 126;
    end.failed_to_start->message = message;
    error_->append("capsule: " + message + "\n");
    output_->close();
    error_->close();
    state_.outputs_ended();
    over_at_ = steady_clock::now();
    // Nobody observes yet, so nothing but the state has to change.
    state_.reaped(end);
}

void Command::on_reaped(bool signaled, int value) {
    ProcessEnd end;
    end.signaled = signaled;
    end.value = value;
    end.failed_to_start = start_failure(plan_, status_.get());
    status_.reset();
    if (!state_.over()) {
        over_at_ = steady_clock::now();
        peak_memory_ = group_->peak_memory();
        end.out_of_memory = signaled && value == SIGKILL && group_->out_of_memory();
    }
    if (input_) input_->close();
    output_->read_rest();
    error_->read_rest();
    apply(state_.reaped(end));
}

void Command::on_output_end() {
    if (output_->ended() && error_->ended()) apply(state_.outputs_ended());
}

void Command::arm(boost::asio::steady_timer& timer, std::chrono::milliseconds after,
                  CommandStep (CommandState::*event)()) {
    timer.expires_after(after);
    timer.async_wait([weak = weak_from_this(), event](const boost::system::error_code& error) {
        const auto self = weak.lock();
        if (self && !error) self->apply((self->state_.*event)());
    });
}

void Command::apply(const CommandStep& step) {
    const auto self = shared_from_this();  // an observer may let go of it
    if (step.kill_tree) kill_tree();
    if (step.arm_grace)
        arm(grace_timer_, protocol::limits::kill_grace, &CommandState::grace_elapsed);
    if (step.disarm_limit) limit_timer_.cancel();
    if (step.arm_drain) arm(drain_timer_, protocol::limits::drain, &CommandState::drain_elapsed);
    if (step.report) {
        grace_timer_.cancel();
        drain_timer_.cancel();
        if (over_at_ == steady_clock::time_point{}) over_at_ = steady_clock::now();
        notify(&Observer::on_exited);
    }
    if (step.close) notify(&Observer::on_ended);
}

void Command::notify(void (Observer::*what)(Command&)) {
    const auto observers = observers_;  // they come and go meanwhile
    for (auto* observer : observers) {
        const bool still =
            std::find(observers_.begin(), observers_.end(), observer) != observers_.end();
        if (still) (observer->*what)(*this);
    }
}

void Command::kill() {
    apply(state_.kill_requested());
}

void Command::kill_tree() {
    if (group_) group_->kill();
    // Root may have moved itself out of the group. Safe: the pid is ours until it has been reaped.
    if (pid_ > 0 && state_.process_alive()) ::kill(pid_, SIGKILL);
}

Result<void> Command::signal(int number, bool tree) {
    if (number < 1 || number >= NSIG) {
        return protocol::fail(Kind::invalid_argument, "no such signal: " + std::to_string(number));
    }
    if (ended() && !group_) return protocol::fail(Kind::not_found, "the command is over");
    if (number == SIGKILL) {
        kill();
    } else if (tree || !state_.process_alive()) {
        // After the reaping its process group may be someone else's; the cgroup never is.
        if (group_) group_->signal(number);
    } else if (terminal_) {
        signal_terminal(number);
    } else {
        signal_group(number);
    }
    return {};
}

void Command::signal_group(int number) {
    // A process that has just been started may not lead its group yet.
    if (::kill(-pid_, number) < 0) ::kill(pid_, number);
}

void Command::signal_terminal(int number) {
    // What runs in the foreground may have left the shell's group; hanging up concerns both.
    const pid_t foreground = ::tcgetpgrp(terminal_.get());
    if (foreground > 0 && foreground != pid_) ::kill(-foreground, number);
    if (foreground <= 0 || foreground == pid_ || number == SIGHUP || number == SIGTERM) {
        signal_group(number);
    }
}

Result<void> Command::resize(const protocol::TerminalSize& size) {
    if (!terminal_) return protocol::fail(Kind::invalid_argument, "the command has no terminal");
    return resize_terminal(terminal_.get(), size);
}

void Command::close_outputs() {
    output_->close();
    error_->close();
}

protocol::CommandReport Command::report() const {
    protocol::CommandReport report;
    report.id = id_;
    report.output = output_->report();
    report.error = error_->report();
    report.output_open = !output_->ended() || !error_->ended();
    const auto until = over() ? over_at_ : steady_clock::now();
    report.run_time_ms = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(until - started_).count());
    report.peak_memory_bytes = peak_memory_;
    if (over()) {
        const auto& verdict = state_.verdict();
        report.kind = verdict.kind;
        report.code = verdict.code;
        report.signal = verdict.signal;
        report.message = verdict.message;
    }
    return report;
}

}  // namespace guest_agent
