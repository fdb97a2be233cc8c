#include "tests/protocol/support/scripted_client.hpp"

#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/operations.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace protocol::test {

void ScriptedClient::add(std::string id, std::string shell) {
    commands_[std::move(id)].shell = std::move(shell);
}

bool ScriptedClient::is_done() const {
    return std::ranges::all_of(commands_, [](const auto& entry) { return entry.second.forgotten; });
}

void ScriptedClient::handle(Session& session, const SessionEvent& event) {
    if (std::holds_alternative<PeerReady>(event)) return resume(session);
    if (const auto* data = std::get_if<StreamData>(&event)) {
        Command& command = commands_.at(uses_.at(data->stream).id);
        (data->channel == Channel::output ? command.output : command.error) += data->bytes;
        session.consumed(data->stream, data->channel, data->bytes.size());
    }
    if (const auto* end = std::get_if<StreamEnded>(&event)) {
        const Use use = uses_.at(end->stream);
        uses_.erase(end->stream);
        ended(session, use, end->payload);
    }
}

void ScriptedClient::resume(Session& session) {
    uses_.clear();
    for (auto& [id, command] : commands_) {
        if (command.forgotten) continue;
        if (!command.result) {
            CommandStart start;
            start.id = id;
            start.shell = command.shell;
            uses_[session.open(encode_request(operation::command_start, start)).value()] = {
                Call::start, id};
        }
        if (!command.followed) {
            CommandFollow follow;
            follow.id = id;
            follow.output_from = command.output.size();
            follow.error_from = command.error.size();
            uses_[session.open(encode_request(operation::command_follow, follow)).value()] = {
                Call::follow, id};
        }
        forget_if_complete(session, id);
    }
}

void ScriptedClient::forget_if_complete(Session& session, const std::string& id) {
    const Command& command = commands_.at(id);
    if (!command.result || !command.followed) return;
    CommandReference reference;
    reference.id = id;
    uses_[session.open(encode_request(operation::command_forget, reference)).value()] = {
        Call::forget, id};
}

void ScriptedClient::ended(Session& session, const Use& use, const std::string& payload) {
    Command& command = commands_.at(use.id);
    switch (use.call) {
        case Call::start:
            command.result = decode_end<CommandReport>(payload).value();
            ++command.results;
            break;
        case Call::follow:
            ASSERT_TRUE(decode_end<Done>(payload));
            command.followed = true;
            break;
        case Call::forget: {
            // Forgotten already when an earlier connection lost the answer.
            const auto done = decode_end<Done>(payload);
            ASSERT_TRUE(done || done.error().kind() == Kind::not_found);
            command.forgotten = true;
            return;
        }
    }
    forget_if_complete(session, use.id);
}

}  // namespace protocol::test
