#include "host/sandbox/command_queue.hpp"

#include "host/sandbox/command_result.hpp"
#include "host/sandbox/refusals.hpp"
#include "host/sandbox/spawn.hpp"
#include "protocol/base/name.hpp"

#include <algorithm>

#include <spdlog/spdlog.h>

namespace host::sandbox {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

// The database refuses (a full disk): the agent goes on holding the result, so trying again is
// safe.
constexpr auto store_retry = 1s;
constexpr auto feed_retry = 1s;
// The agent refuses new commands when it holds limits::commands_ended_open; stay well below.
constexpr std::size_t held_limit = protocol::limits::commands_ended_open / 2;

// The agent also kills when the run ends: at its own deadline, on power-off, when it settles. A
// command ended that way is Aborted, with the run's reason, as soon as the daemon knows of that
// end.
bool was_ended_with_the_run(const model::CommandRecord& command,
                            const protocol::CommandReport& report) {
    return report.kind == "killed" && command.reason.empty();
}
constexpr std::int64_t run_end_ms = 2'000;  // how long that news may take

}  // namespace

CommandQueue::CommandQueue(std::shared_ptr<Core> core, const model::RunRecord& run)
    : core_(std::move(core)),
      run_(run.id),
      space_(run.capsule.space),
      definition_(run.definition) {}

Result<void> CommandQueue::load() {
    TRY(last_sequence_, core_->database.last_sequence(run_));
    TRY(auto open, core_->database.open_commands(run_));
    for (auto& record : open) {
        auto command = std::make_shared<LiveCommand>(std::move(record), core_->parts.executor);
        if (command->record.status == model::CommandStatus::queued) {
            queued_.push_back(std::move(command));
        } else {
            if (!command->record.async) ++blocking_;
            running_.emplace(command->record.id, std::move(command));
        }
    }
    TRY(auto held, core_->database.held_commands(run_));
    for (auto& record : held) {
        held_.push_back(std::make_shared<LiveCommand>(std::move(record), core_->parts.executor));
    }
    return {};
}

Result<model::CommandRecord> CommandQueue::submit(
    model::CommandRecord command, const std::optional<journal::IdempotencyRecord>& key) {
    if (last_sequence_ >= model::defaults::commands_per_run) {
        return protocol::fail(protocol::Failure::with_code(
            protocol::Kind::resource_exhausted, "too-many-waiting",
            "a run takes at most " + std::to_string(model::defaults::commands_per_run) +
                " commands"));
    }
    if (queued_.size() >= model::defaults::queued_per_run) {
        return protocol::fail(protocol::Failure::with_code(
            protocol::Kind::resource_exhausted, "too-many-waiting",
            "at most " + std::to_string(model::defaults::queued_per_run) +
                " commands may wait in a run"));
    }
    command.sequence = last_sequence_ + 1;
    TRY(auto transaction, core_->database.begin(journal::Durability::process));
    TRY_VOID(core_->database.insert_command(command));
    if (key) TRY_VOID(core_->database.insert_idempotent(*key));
    TRY_VOID(transaction.commit());
    ++last_sequence_;
    queued_.push_back(std::make_shared<LiveCommand>(command, core_->parts.executor));
    const auto added = queued_.back();
    dispatch();
    return added->record;
}

void CommandQueue::open(std::shared_ptr<Guest> guest) {
    guest_ = std::move(guest);
    // Copies: coroutines begin at once, and what they find out takes commands off the lists.
    std::vector<Pointer> running;
    for (const auto& [id, command] : running_) running.push_back(command);
    const std::vector<Pointer> held(held_.begin(), held_.end());
    for (const Pointer& command : running) {
        spawn(core_->parts.executor, "command", run(shared_from_this(), command));
    }
    for (const Pointer& command : held) {
        spawn(core_->parts.executor, "held command", reattach(shared_from_this(), command));
    }
    dispatch();
}

std::shared_ptr<LiveCommand> CommandQueue::find(const protocol::CommandId& id) const {
    if (const auto found = running_.find(id); found != running_.end()) return found->second;
    const auto is_it = [&id](const Pointer& command) { return command->record.id == id; };
    if (const auto found = std::ranges::find_if(queued_, is_it); found != queued_.end()) {
        return *found;
    }
    const auto found = std::ranges::find_if(held_, is_it);
    return found == held_.end() ? nullptr : *found;
}

void CommandQueue::wake_waiters() {
    for (const Pointer& command : queued_) command->changed.wake_all();
    for (const auto& [id, command] : running_) command->changed.wake_all();
}

void CommandQueue::dispatch() {
    while (guest_ && !stopped_ && !core_->closing && !queued_.empty() && blocking_ == 0 &&
           running_.size() < protocol::limits::commands_running) {
        const Pointer command = queued_.front();
        if (auto stored = store_start(*command); !stored) {
            spdlog::error("cannot store a command's start run={} command={} error={}", run_.str(),
                          command->record.id.str(), stored.error().describe());
            retry_ = core_->clock.alarm_in(store_retry, [weak = weak_from_this()] {
                if (const auto self = weak.lock()) self->dispatch();
            });
            return;
        }
        queued_.pop_front();
        running_.emplace(command->record.id, command);
        if (!command->record.async) ++blocking_;
        command->changed.wake_all();
        spawn(core_->parts.executor, "command", run(shared_from_this(), command));
    }
}

Result<void> CommandQueue::store_start(LiveCommand& command) {
    model::CommandRecord record = command.record;
    record.status = next(record.status, model::CommandEvent::dispatched).value_or(record.status);
    record.started_at = core_->clock.unix_ms();
    TRY(auto transaction, core_->database.begin(journal::Durability::process));
    TRY_VOID(core_->database.update_command(record));
    TRY_VOID(core_->database.set_held(record.id, true));
    TRY_VOID(core_->events.append(space_, "command.started", describe(record)));
    TRY_VOID(transaction.commit());
    command.record = std::move(record);
    return {};
}

Result<void> CommandQueue::store_end(const model::CommandRecord& command) {
    TRY(auto transaction, core_->database.begin(journal::Durability::process));
    TRY_VOID(core_->database.update_command(command));
    TRY_VOID(core_->events.append(space_, "command.ended", describe(command)));
    return transaction.commit();
}

asio::awaitable<void> CommandQueue::run(std::shared_ptr<CommandQueue>, Pointer command) {
    const TaskCount counted(*core_);
    auto request = start_request(command->record, definition_);
    std::function<void()> started = [command] {
        command->begun = true;
        command->changed.wake_all();
    };
    const auto guest = guest_;
    if (command->record.input_text) {
        spawn(core_->parts.executor, "input", feed(shared_from_this(), command, guest));
    }
    auto report = co_await guest->run(std::move(request), std::move(started));
    if (command->over() || core_->closing) co_return;
    auto ended = command->record;
    if (report) {
        if (was_ended_with_the_run(ended, *report)) {
            apply_outputs(command->record, *report);  // kept if it is aborted now
            Condition pause(core_->parts.executor);
            co_await pause.wait_until(core_->clock, core_->clock.boottime_ms() + run_end_ms);
            if (command->over() || core_->closing || stopped_) co_return;
        }
        apply_end(ended, *report, core_->clock.unix_ms());
    } else {
        // Lost, closed, or the machine is stopping: the end of the run decides about the command.
        const auto kind = report.error().kind();
        if (stopped_ || kind == protocol::Kind::unavailable || kind == protocol::Kind::conflict) {
            co_return;
        }
        spdlog::warn("the agent refused a command run={} command={} error={}", run_.str(),
                     command->record.id.str(), protocol::escape_foreign(report.error().describe()));
        apply_refusal(ended, report.error().message(), core_->clock.unix_ms());
    }
    co_await commit(command, std::move(ended));
}

// Gives a command the text it was sent with, and end of file. Also after a restart: the agent skips
// what it has had already.
asio::awaitable<void> CommandQueue::feed(std::shared_ptr<CommandQueue>, Pointer command,
                                         std::shared_ptr<Guest> guest) {
    const TaskCount counted(*core_);
    while (!command->begun && !command->over() && !stopped_ && !core_->closing) {
        co_await command->changed.wait();
    }
    while (!command->over() && !stopped_ && !core_->closing) {
        protocol::CommandInput request;
        request.id = command->record.id.str();
        const auto sink = guest->input(std::move(request));
        std::string text = *command->record.input_text;
        auto given = co_await sink->write(std::move(text));
        if (given) given = co_await sink->close();
        // It has ended, or reads no more: that is its own business. Only an agent that has to wait
        // for the program before it takes more is asked again.
        if (given || given.error().kind() != protocol::Kind::resource_exhausted) co_return;
        Condition pause(core_->parts.executor);
        co_await pause.wait_until(core_->clock, core_->clock.boottime_ms() +
                                                    std::chrono::milliseconds(feed_retry).count());
    }
}

asio::awaitable<void> CommandQueue::commit(Pointer command, model::CommandRecord ended) {
    for (;;) {
        if (command->over()) co_return;  // committed by somebody else while this one waited
        auto stored = store_end(ended);
        if (stored) break;
        spdlog::error("cannot store a result run={} command={} error={}", run_.str(),
                      ended.id.str(), stored.error().describe());
        Condition pause(core_->parts.executor);
        co_await pause.wait_until(core_->clock, core_->clock.boottime_ms() + 1'000);
        if (core_->closing) co_return;
    }
    ended.input_text.reset();  // it may be long, and held commands many
    command->record = std::move(ended);
    running_.erase(command->record.id);
    if (!command->record.async) --blocking_;
    held_.push_back(command);
    command->changed.wake_all();
    if (held_.size() > held_limit) forget(held_.front());
    settle_held(command);
    dispatch();
}

// Forgets an ended command unless something may still be wanted from the agent.
void CommandQueue::settle_held(const Pointer& command) {
    if (!command->over() || command->record.output_open || command->followers > 0) return;
    if (core_->closing) return;
    if (command->record.hold_output && !command->followed) {
        if (command->hold) return;
        command->hold =
            core_->clock.alarm_in(protocol::limits::lossless_hold,
                                  [weak = weak_from_this(), weak_command = std::weak_ptr(command)] {
                                      const auto self = weak.lock();
                                      const auto held = weak_command.lock();
                                      if (self && held) self->forget(held);
                                  });
        return;
    }
    forget(command);
}

void CommandQueue::forget(const Pointer& command) {
    // Named: `command` may refer to the element that goes.
    const Pointer going = command;
    if (std::ranges::find(held_, going) == held_.end()) return;
    std::erase(held_, going);
    if (!guest_ || stopped_ || core_->closing) return;
    spawn(core_->parts.executor, "forget",
          forget_in_agent(shared_from_this(), guest_, going->record.id));
}

asio::awaitable<void> CommandQueue::forget_in_agent(std::shared_ptr<CommandQueue>,
                                                    std::shared_ptr<Guest> guest,
                                                    protocol::CommandId id) {
    const TaskCount counted(*core_);
    const auto forgotten = co_await guest->forget(id.str());
    if (!forgotten && forgotten.error().kind() != protocol::Kind::not_found) co_return;
    if (auto stored = core_->database.set_held(id, false); !stored) {
        spdlog::warn("cannot store that a command was forgotten run={} command={} error={}",
                     run_.str(), id.str(), stored.error().describe());
    }
}

// After a restart: ended commands the agent may still hold. `run` would start again what was
// forgotten just before the daemon died, so the agent is asked first.
asio::awaitable<void> CommandQueue::reattach(std::shared_ptr<CommandQueue>, Pointer command) {
    const TaskCount counted(*core_);
    co_await refresh(command);
    settle_held(command);
}

asio::awaitable<void> CommandQueue::refresh(Pointer command) {
    const auto self = shared_from_this();
    if (!guest_ || command->record.status == model::CommandStatus::queued) co_return;
    if (command->over() && !command->record.output_open) co_return;
    const auto guest = guest_;
    auto report = co_await guest->state(command->record.id.str());
    if (!report && report.error().kind() == protocol::Kind::not_found && command->over()) {
        command->record.output_open = false;
        static_cast<void>(core_->database.update_command(command->record));
        co_return;
    }
    if (report) on_late_report(*report);
}

void CommandQueue::on_late_report(const protocol::CommandReport& report) {
    const auto id = protocol::CommandId::parse(report.id);
    if (!id) return;
    const Pointer command = find(*id);
    if (!command || command->record.status == model::CommandStatus::queued) return;
    apply_outputs(command->record, report);
    if (!command->over()) return;  // shown to who asks, stored with its end
    if (auto stored = core_->database.update_command(command->record); !stored) {
        spdlog::warn("cannot store late output run={} command={} error={}", run_.str(),
                     command->record.id.str(), stored.error().describe());
    }
    settle_held(command);
}

void CommandQueue::on_follower(const Pointer& command, int change) {
    if (change > 0) {
        ++command->followers;
        command->followed = true;
    } else {
        --command->followers;
    }
    settle_held(command);
}

Async<void> CommandQueue::kill(Pointer command, int signal) {
    const auto self = shared_from_this();
    if (command->over()) co_return Result<void>();
    if (command->record.status == model::CommandStatus::queued) {
        model::CommandRecord canceled = command->record;
        apply_cancel(canceled, core_->clock.unix_ms());
        CO_TRY_VOID(store_end(canceled));
        command->record = std::move(canceled);
        std::erase(queued_, command);
        command->changed.wake_all();
        co_return Result<void>();
    }
    if (!guest_) {
        co_return protocol::fail(guest_unavailable("the agent is not connected yet"));
    }
    if (signal == 9) {
        // Stored first: what tells this end from one that comes with the run's must survive a
        // restart.
        model::CommandRecord marked = command->record;
        marked.reason = kill_reason;
        CO_TRY_VOID(core_->database.update_command(marked));
        command->record.reason = kill_reason;
    }
    protocol::CommandSignal request;
    request.id = command->record.id.str();
    request.number = signal;
    request.tree = signal == 9;
    const auto guest = guest_;
    auto sent = co_await guest->signal(std::move(request));
    // It has ended by itself in between.
    if (!sent && sent.error().kind() == protocol::Kind::not_found) co_return Result<void>();
    co_return sent;
}

asio::awaitable<void> CommandQueue::collect(std::shared_ptr<Guest> guest, std::string why) {
    const auto self = shared_from_this();
    std::vector<Pointer> running;
    for (const auto& [id, command] : running_) running.push_back(command);
    for (const Pointer& command : running) {
        auto report = co_await guest->state(command->record.id.str());
        if (!report || command->over()) continue;
        auto ended = command->record;
        if (is_over(*report) && !was_ended_with_the_run(command->record, *report)) {
            apply_end(ended, *report, core_->clock.unix_ms());
        } else {
            // What it has printed by now is all that will ever be known of it.
            apply_outputs(ended, *report);
            apply_abort(ended, why, core_->clock.unix_ms());
        }
        co_await commit(command, std::move(ended));
    }
}

Result<void> CommandQueue::abort_all(const std::string& why) {
    std::vector<Pointer> open(queued_.begin(), queued_.end());
    for (const auto& [id, command] : running_) open.push_back(command);
    if (open.empty()) return {};
    std::vector<model::CommandRecord> aborted;
    TRY(auto transaction, core_->database.begin(journal::Durability::process));
    for (const Pointer& command : open) {
        aborted.push_back(command->record);
        apply_abort(aborted.back(), why, core_->clock.unix_ms());
        TRY_VOID(core_->database.update_command(aborted.back()));
        TRY_VOID(core_->events.append(space_, "command.ended", describe(aborted.back())));
    }
    TRY_VOID(transaction.commit());
    for (std::size_t i = 0; i < open.size(); ++i) {
        open[i]->record = std::move(aborted[i]);
        open[i]->changed.wake_all();
    }
    queued_.clear();
    running_.clear();
    blocking_ = 0;
    return {};
}

}  // namespace host::sandbox
