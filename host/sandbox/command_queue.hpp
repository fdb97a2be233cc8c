#pragma once
// CommandQueue: the commands that clients send to one run. One after another, except that an async
// one does not hold up the next. A result is committed to the database first, then its waiters hear
// of it, then the agent may forget it. Loop thread only; its coroutines keep it alive.

#include "host/sandbox/core.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace host::sandbox {

// A command that is queued, runs, or has ended and is still held by the agent.
struct LiveCommand {
    LiveCommand(model::CommandRecord row, const boost::asio::any_io_executor& executor)
        : record(std::move(row)), changed(executor) {}
    bool over() const { return is_terminal(record.status); }

    model::CommandRecord record;
    Condition changed;            // status, or `begun`
    bool begun = false;           // the agent runs it: it can be followed
    std::size_t followers = 0;    // attached now
    bool followed = false;        // somebody ever was
    std::unique_ptr<Alarm> hold;  // forget at the latest
};

class CommandQueue : public std::enable_shared_from_this<CommandQueue> {
  public:
    CommandQueue(std::shared_ptr<Core> core, const model::RunRecord& run);

    // What an earlier daemon has left in the database.
    Result<void> load();

    // Stores it as queued. resource_exhausted "too-many-waiting" beyond the limits.
    Result<model::CommandRecord> submit(model::CommandRecord command,
                                        const std::optional<journal::IdempotencyRecord>& key);
    // The run is ready: commands go to its agent from now on. Those that already run are attached
    // to.
    void open(std::shared_ptr<Guest> guest);
    // nullptr when it is neither open nor held.
    std::shared_ptr<LiveCommand> find(const protocol::CommandId& id) const;
    // Newer windows of a command whose output is still open, or that still runs.
    boost::asio::awaitable<void> refresh(std::shared_ptr<LiveCommand> command);
    // A queued command is canceled, a running one gets the signal.
    Async<void> kill(std::shared_ptr<LiveCommand> command, int signal);
    void on_late_report(const protocol::CommandReport& report);
    // A follower has come or gone.
    void on_follower(const std::shared_ptr<LiveCommand>& command, int change);

    // ---- the run is ending, in this order ----
    // Nothing is dispatched any more.
    void stop() { stopped_ = true; }
    // Commits what has ended in the agent although its report is not here yet; what still runs is
    // Aborted with its outputs so far.
    boost::asio::awaitable<void> collect(std::shared_ptr<Guest> guest, std::string why);
    // Everything open becomes Aborted.
    Result<void> abort_all(const std::string& why);

    // The daemon goes: nobody is to wait any longer.
    void wake_waiters();

    std::size_t open_commands() const { return queued_.size() + running_.size(); }

  private:
    using Pointer = std::shared_ptr<LiveCommand>;
    // A first parameter of this type only keeps the queue alive as long as the coroutine runs.
    using Self = std::shared_ptr<CommandQueue>;

    void dispatch();
    Result<void> store_start(LiveCommand& command);
    Result<void> store_end(const model::CommandRecord& command);
    boost::asio::awaitable<void> run(Self self, Pointer command);
    boost::asio::awaitable<void> feed(Self self, Pointer command, std::shared_ptr<Guest> guest);
    boost::asio::awaitable<void> commit(Pointer command, model::CommandRecord ended);
    void settle_held(const Pointer& command);
    void forget(const Pointer& command);
    boost::asio::awaitable<void> forget_in_agent(Self self, std::shared_ptr<Guest> guest,
                                                 protocol::CommandId id);
    boost::asio::awaitable<void> reattach(Self self, Pointer command);

    std::shared_ptr<Core> core_;
    const RunId run_;
    const std::string space_;
    const model::Definition definition_;
    std::shared_ptr<Guest> guest_;
    bool stopped_ = false;
    std::uint64_t last_sequence_ = 0;
    std::deque<Pointer> queued_;
    std::map<protocol::CommandId, Pointer> running_;
    std::deque<Pointer> held_;  // ended, not forgotten; the oldest first
    std::size_t blocking_ = 0;  // running and not async
    std::unique_ptr<Alarm> retry_;
};

}  // namespace host::sandbox
