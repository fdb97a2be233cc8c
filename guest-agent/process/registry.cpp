#include "guest-agent/process/registry.hpp"

#include "protocol/base/ids.hpp"
#include "protocol/wire/limits.hpp"

#include <algorithm>

#include <boost/asio/post.hpp>

namespace guest_agent {

using protocol::Kind;
using protocol::Result;

namespace {
constexpr auto tidy_interval = std::chrono::seconds(2);
}

// Waits for the commands that run now, calls back from the loop, and goes.
class CommandRegistry::AllOver final : public Command::Observer {
  public:
    static void wait(const CommandRegistry& registry, std::function<void()> done) {
        const auto waiter = std::make_shared<AllOver>(registry.context_.executor, std::move(done));
        waiter->self_ = waiter;
        for (const auto& [id, command] : registry.commands_) {
            if (command->over()) continue;
            command->observe(*waiter);
            ++waiter->left_;
        }
        if (waiter->left_ == 0) waiter->finish();
    }
    AllOver(boost::asio::any_io_executor executor, std::function<void()> done)
        : executor_(std::move(executor)), done_(std::move(done)) {}
    void on_exited(Command& command) override {
        command.unobserve(*this);
        if (--left_ == 0) finish();
    }
    void on_ended(Command&) override {}

  private:
    void finish() {
        boost::asio::post(executor_, [self = std::move(self_)] { self->done_(); });
    }
    boost::asio::any_io_executor executor_;
    std::function<void()> done_;
    std::shared_ptr<AllOver> self_;  // until the last command is over
    std::size_t left_ = 0;
};

CommandRegistry::CommandRegistry(CommandContext& context, std::string root)
    : context_(context), root_(std::move(root)), tidy_timer_(context.executor) {}

void CommandRegistry::set_environment(std::vector<protocol::EnvironmentEntry> environment) {
    environment_ = std::move(environment);
}

void CommandRegistry::set_api_environment(std::vector<protocol::EnvironmentEntry> environment) {
    api_environment_ = std::move(environment);
}

std::size_t CommandRegistry::running() const {
    return static_cast<std::size_t>(
        std::count_if(commands_.begin(), commands_.end(),
                      [](const auto& entry) { return !entry.second->over(); }));
}

Result<std::shared_ptr<Command>> CommandRegistry::start(const protocol::CommandStart& request) {
    if (auto id = protocol::CommandId::parse(request.id); !id) {
        return protocol::fail(std::move(id).error());
    }
    if (const auto known = commands_.find(request.id); known != commands_.end())
        return known->second;
    TRY_VOID(check_request(request));
    if (running() >= protocol::limits::commands_running) {
        return protocol::fail(Kind::resource_exhausted, "too many commands are running");
    }
    if (commands_.size() - running() >= protocol::limits::commands_ended_open) {
        return protocol::fail(Kind::resource_exhausted, "too many ended commands are kept");
    }
    auto plan = [&]() -> Result<SpawnPlan> {
        TRY(const Account account, read_account(root_, request.user));
        // Whom the API's socket would turn away is not sent there.
        if (!may_use_api(account.uid)) return plan_spawn(request, account, environment_);
        auto machine = api_environment_;
        machine.insert(machine.end(), environment_.begin(), environment_.end());
        return plan_spawn(request, account, machine);
    }();
    const auto command = std::make_shared<Command>(context_, request.id);
    commands_.emplace(request.id, command);
    command->start(plan, request);
    return command;
}

Result<std::shared_ptr<Command>> CommandRegistry::find(const std::string& id) {
    const auto found = commands_.find(id);
    if (found == commands_.end()) return protocol::fail(Kind::not_found, "no such command");
    return found->second;
}

Result<void> CommandRegistry::forget(const std::string& id) {
    TRY(const auto command, find(id));
    if (!command->over()) return protocol::fail(Kind::conflict, "the command is still running");
    commands_.erase(id);
    if (auto group = command->release_group(); group && !group->remove()) {
        groups_.push_back(std::move(group));
    }
    if (!command->ended()) {
        abandoned_.push_back(command);
        if (abandoned_.size() > protocol::limits::commands_ended_open) {
            abandoned_.front()->close_outputs();
            abandoned_.pop_front();
        }
    }
    tidy();
    return {};
}

void CommandRegistry::tidy() {
    std::erase_if(abandoned_, [](const auto& command) { return command->ended(); });
    std::erase_if(groups_, [](const auto& group) { return group->remove(); });
    if (tidying_ || (abandoned_.empty() && groups_.empty())) return;
    tidying_ = true;
    tidy_timer_.expires_after(tidy_interval);
    tidy_timer_.async_wait([this](const boost::system::error_code& error) {
        tidying_ = false;
        if (!error) tidy();
    });
}

void CommandRegistry::kill_all(std::function<void()> done) {
    const auto commands = commands_;
    for (const auto& [id, command] : commands) command->kill();
    context_.groups.kill_all();  // also what forgotten commands left behind
    AllOver::wait(*this, std::move(done));
}

}  // namespace guest_agent
