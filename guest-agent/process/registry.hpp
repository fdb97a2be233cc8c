#pragma once
// CommandRegistry: every command the machine knows, by id, from its start until the host has
// committed its result and sent `forget`. Also the clean-up behind them: groups in which background
// processes live on. Threading: the loop thread.

#include "guest-agent/process/command.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace guest_agent {

class CommandRegistry {
  public:
    // `root`: where /etc/passwd is found, "" in a machine.
    CommandRegistry(CommandContext& context, std::string root);

    // Environment of every command, below the request's own.
    void set_environment(std::vector<protocol::EnvironmentEntry> environment);
    // Below that, and only for those whom `may_use_api` admits: where the host's API is served.
    // Empty: nowhere.
    void set_api_environment(std::vector<protocol::EnvironmentEntry> environment);

    // The command with that id, started now or known already. invalid_argument: can never be run;
    // resource_exhausted: too many. Everything else that keeps a command from running is its
    // result.
    protocol::Result<std::shared_ptr<Command>> start(const protocol::CommandStart& request);
    // not_found.
    protocol::Result<std::shared_ptr<Command>> find(const std::string& id);
    // conflict while it runs. A command whose output is still open leaves the list, and its output
    // goes on being read, so that what it left behind does not die of a broken pipe.
    protocol::Result<void> forget(const std::string& id);

    // Kills every process of every command and calls `done` when all are over (kill_grace at most).
    void kill_all(std::function<void()> done);
    std::size_t known() const { return commands_.size(); }

  private:
    class AllOver;

    std::size_t running() const;
    void tidy();

    CommandContext& context_;
    std::string root_;
    std::vector<protocol::EnvironmentEntry> environment_;
    std::vector<protocol::EnvironmentEntry> api_environment_;
    std::map<std::string, std::shared_ptr<Command>> commands_;
    std::deque<std::shared_ptr<Command>> abandoned_;     // forgotten, output still open
    std::vector<std::unique_ptr<ProcessGroup>> groups_;  // of forgotten commands, perhaps not empty
    boost::asio::steady_timer tidy_timer_;
    bool tidying_ = false;
};

}  // namespace guest_agent
