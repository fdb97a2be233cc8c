#pragma once
// ScriptedClient: the host side of the same: it starts commands, follows their output, commits each
// result and then lets the guest forget it, over as many connections as it takes.

#include "protocol/session/session.hpp"
#include "protocol/wire/messages.hpp"

#include <map>
#include <optional>
#include <string>

namespace protocol::test {

class ScriptedClient {
  public:
    struct Command {
        std::string shell;
        std::string output, error;  // as followed, all connections together
        bool followed = false;      // both channels half-closed and the stream ended
        std::optional<CommandReport> result;
        int results = 0;
        bool forgotten = false;
    };

    void add(std::string id, std::string shell);
    void handle(Session& session, const SessionEvent& event);
    bool is_done() const;
    const std::map<std::string, Command>& commands() const { return commands_; }

  private:
    enum class Call { start, follow, forget };
    struct Use {
        Call call;
        std::string id;
    };

    void resume(Session& session);
    void forget_if_complete(Session& session, const std::string& id);
    void ended(Session& session, const Use& use, const std::string& payload);

    std::map<std::string, Command> commands_;
    std::map<StreamId, Use> uses_;  // of the present connection
};

}  // namespace protocol::test
