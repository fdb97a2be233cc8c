#pragma once
// ScriptedCommands: a small guest-side command service over a Session. Commands play a script
// instead of running a program, one step at a time, so that a test decides when what happens. It
// keeps what must survive a connection (state, windows) the way an agent has to.

#include "protocol/session/session.hpp"
#include "protocol/text/output_window.hpp"
#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/messages.hpp"

#include <map>
#include <string>
#include <vector>

namespace protocol::test {

// What a command does in one step.
struct Step {
    enum class What { output, error, exit, close };
    What what;
    std::string bytes;  // output, error
    int code = 0;       // exit
};
using Script = std::vector<Step>;

class ScriptedCommands {
  public:
    // By CommandStart::shell.
    explicit ScriptedCommands(std::map<std::string, Script> scripts);

    void handle(Session& session, const SessionEvent& event);
    // Every command that is not over does its next step; followers are served.
    void advance(Session& session);

    int executions(const std::string& id) const;
    std::size_t commands_kept() const { return commands_.size(); }

  private:
    struct Command {
        Script script;
        std::size_t next = 0;
        OutputWindow output, error;
        // Where each output stood at the exit: a follower is told once it has got that far.
        std::uint64_t output_at_exit = 0, error_at_exit = 0;
        bool exited = false, closed = false;
        int code = 0;
    };
    struct Follower {
        std::string id;
        std::uint64_t output_from, error_from;
        bool told_exit = false, output_closed = false, error_closed = false;
    };

    void handle_open(Session& session, const StreamOpened& opened);
    void play(Session& session, const std::string& id, Command& command);
    // True when the stream has been ended.
    bool serve(Session& session, StreamId stream, Follower& follower);
    static void send_output(Session& session, StreamId stream, Channel channel,
                            const OutputWindow& output, bool closed, std::uint64_t& from,
                            bool& half_closed);
    CommandReport report(const std::string& id, const Command& command) const;

    std::map<std::string, Script> scripts_;
    std::map<std::string, Command> commands_;
    std::map<std::string, int> executions_;
    // Of the present connection.
    std::map<StreamId, std::string> starters_;
    std::map<StreamId, Follower> followers_;
};

}  // namespace protocol::test
