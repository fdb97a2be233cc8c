#include "tests/protocol/support/scripted_commands.hpp"

#include "protocol/wire/operations.hpp"

#include <utility>

namespace protocol::test {

ScriptedCommands::ScriptedCommands(std::map<std::string, Script> scripts)
    : scripts_(std::move(scripts)) {}

int ScriptedCommands::executions(const std::string& id) const {
    const auto found = executions_.find(id);
    return found == executions_.end() ? 0 : found->second;
}

void ScriptedCommands::handle(Session& session, const SessionEvent& event) {
    if (std::holds_alternative<PeerReady>(event)) {
        starters_.clear();
        followers_.clear();
    }
    if (const auto* opened = std::get_if<StreamOpened>(&event)) handle_open(session, *opened);
}

void ScriptedCommands::handle_open(Session& session, const StreamOpened& opened) {
    const NamedMessage message = decode_named(opened.request, "operation").value();
    if (message.name == operation::command_start) {
        const auto start = from_json<CommandStart>(message.body).value();
        auto [found, is_new] = commands_.try_emplace(start.id);
        if (is_new) {
            found->second.script = scripts_.at(*start.shell);
            ++executions_[start.id];
        }
        const Command& command = found->second;
        session.send_event(opened.stream, encode_event(event::started, CommandStarted()));
        if (command.exited) {
            session.send_event(opened.stream,
                               encode_event(event::exited, report(start.id, command)));
        }
        if (command.closed) {
            session.end(opened.stream, encode_end(report(start.id, command)));
        } else {
            starters_[opened.stream] = start.id;
        }
    } else if (message.name == operation::command_follow) {
        const auto follow = from_json<CommandFollow>(message.body).value();
        if (!commands_.contains(follow.id)) {
            session.end(opened.stream, encode_end_failure(Failure(Kind::not_found, follow.id)));
            return;
        }
        followers_[opened.stream] = {follow.id, follow.output_from, follow.error_from};
    } else if (message.name == operation::command_forget) {
        const auto reference = from_json<CommandReference>(message.body).value();
        const bool known = commands_.erase(reference.id) > 0;
        session.end(opened.stream,
                    known ? encode_end(Done())
                          : encode_end_failure(Failure(Kind::not_found, reference.id)));
    }
}

void ScriptedCommands::advance(Session& session) {
    for (auto& [id, command] : commands_) {
        if (command.next < command.script.size()) play(session, id, command);
    }
    for (auto follower = followers_.begin(); follower != followers_.end();) {
        const bool over = serve(session, follower->first, follower->second);
        follower = over ? followers_.erase(follower) : std::next(follower);
    }
}

void ScriptedCommands::play(Session& session, const std::string& id, Command& command) {
    const Step& step = command.script[command.next++];
    switch (step.what) {
        case Step::What::output:
        case Step::What::error: {
            OutputWindow& output = step.what == Step::What::output ? command.output : command.error;
            output.append(step.bytes);
            break;
        }
        case Step::What::exit:
            command.exited = true;
            command.code = step.code;
            command.output_at_exit = command.output.raw().end();
            command.error_at_exit = command.error.raw().end();
            break;
        case Step::What::close:
            command.closed = true;
            command.output.finish();
            command.error.finish();
            break;
    }
    std::erase_if(starters_, [&](const auto& entry) {
        if (entry.second != id) return false;
        if (step.what == Step::What::exit) {
            session.send_event(entry.first, encode_event(event::exited, report(id, command)));
        }
        if (command.closed) session.end(entry.first, encode_end(report(id, command)));
        return command.closed;
    });
}

void ScriptedCommands::send_output(Session& session, StreamId stream, Channel channel,
                                   const OutputWindow& output, bool closed, std::uint64_t& from,
                                   bool& half_closed) {
    if (half_closed) return;
    const std::string_view bytes = output.raw().view(from, session.sendable(stream, channel));
    const bool last = closed && from + bytes.size() == output.raw().end();
    if (bytes.empty() && !last) return;
    from += session.send_data(stream, channel, bytes, last);
    half_closed = last;
}

bool ScriptedCommands::serve(Session& session, StreamId stream, Follower& follower) {
    const auto found = commands_.find(follower.id);
    if (found == commands_.end()) {
        session.end(stream, encode_end_failure(Failure(Kind::not_found, follower.id)));
        return true;
    }
    const Command& command = found->second;
    send_output(session, stream, Channel::output, command.output, command.closed,
                follower.output_from, follower.output_closed);
    send_output(session, stream, Channel::error, command.error, command.closed, follower.error_from,
                follower.error_closed);
    if (command.exited && !follower.told_exit && follower.output_from >= command.output_at_exit &&
        follower.error_from >= command.error_at_exit) {
        follower.told_exit = true;
        session.send_event(stream, encode_event(event::exited, Done()));
    }
    if (!follower.output_closed || !follower.error_closed) return false;
    session.end(stream, encode_end(Done()));
    return true;
}

CommandReport ScriptedCommands::report(const std::string& id, const Command& command) const {
    CommandReport report;
    report.id = id;
    report.kind = command.exited ? "exited" : "";
    report.code = command.code;
    for (const auto& [from, to] :
         {std::pair{&command.output, &report.output}, std::pair{&command.error, &report.error}}) {
        to->window = from->text();
        to->characters = from->characters();
        to->bytes = from->bytes();
    }
    report.output_open = !command.closed;
    return report;
}

}  // namespace protocol::test
