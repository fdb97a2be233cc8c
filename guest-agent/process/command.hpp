#pragma once
// Command: one command from its start to the last byte of its outputs. Owns the process's
// descriptors, its group, its timers; CommandState decides what happens when. Connections come and
// go without it noticing: whoever wants to hear of it observes it. Threading: the loop thread.
// Lifetime: shared; held by CommandRegistry.

#include "guest-agent/process/command_state.hpp"
#include "guest-agent/process/input.hpp"
#include "guest-agent/process/output.hpp"
#include "guest-agent/process/process_group.hpp"
#include "guest-agent/process/reaper.hpp"
#include "guest-agent/process/spawn_plan.hpp"
#include "protocol/wire/messages.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace guest_agent {

// What every command needs of its surroundings. Must outlive all of them.
struct CommandContext {
    boost::asio::any_io_executor executor;
    Reaper& reaper;
    ProcessGroups& groups;
};

class Command : public std::enable_shared_from_this<Command> {
  public:
    class Observer {
      public:
        virtual ~Observer() = default;
        // The command is over; its verdict is final.
        virtual void on_exited(Command& command) = 0;
        // No late output can come any more. After on_exited.
        virtual void on_ended(Command& command) = 0;
    };

    Command(CommandContext& context, std::string id);
    // Starts it; a plan that failed (unknown user) or a failing start makes a command that is over
    // at once, with its reason on the error output.
    void start(const protocol::Result<SpawnPlan>& plan, const protocol::CommandStart& request);

    const std::string& id() const { return id_; }
    pid_t pid() const { return pid_; }  // -1: never was a process
    bool over() const { return state_.over(); }
    bool ended() const { return state_.closed(); }
    protocol::CommandReport report() const;

    Output& output() { return *output_; }
    Output& error() { return *error_; }
    Input* input() { return input_.get(); }  // nullptr: stdin is /dev/null

    void observe(Observer& observer) { observers_.push_back(&observer); }
    void unobserve(Observer& observer) { std::erase(observers_, &observer); }

    // 9 means the whole tree, whatever `tree` says. not_found when nothing is left to signal.
    protocol::Result<void> signal(int number, bool tree);
    protocol::Result<void> resize(const protocol::TerminalSize& size);
    void kill();
    // Nobody wants late output: ends both outputs.
    void close_outputs();
    std::unique_ptr<ProcessGroup> release_group() { return std::move(group_); }

  private:
    protocol::Result<void> launch(const SpawnPlan& plan);
    void fail_to_start(const std::string& message);
    void on_reaped(bool signaled, int value);
    void on_output_end();
    void apply(const CommandStep& step);
    void arm(boost::asio::steady_timer& timer, std::chrono::milliseconds after,
             CommandStep (CommandState::*event)());
    void notify(void (Observer::*what)(Command&));
    void kill_tree();
    void signal_group(int number);
    void signal_terminal(int number);

    CommandContext& context_;
    std::string id_;
    CommandState state_;
    SpawnPlan plan_;
    std::unique_ptr<ProcessGroup> group_;
    std::shared_ptr<Output> output_, error_;
    std::shared_ptr<Input> input_;
    protocol::UniqueFd status_;    // why the exec failed, read once
    protocol::UniqueFd terminal_;  // the master, for its size and foreground group
    boost::asio::steady_timer limit_timer_, drain_timer_, grace_timer_;
    std::vector<Observer*> observers_;
    pid_t pid_ = -1;
    std::chrono::steady_clock::time_point started_;
    std::chrono::steady_clock::time_point over_at_;
    std::optional<std::uint64_t> peak_memory_;
};

}  // namespace guest_agent
