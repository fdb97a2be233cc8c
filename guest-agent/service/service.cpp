#include "guest-agent/service/service.hpp"

#include "guest-agent/process/account.hpp"
#include "guest-agent/service/call_streams.hpp"
#include "guest-agent/service/command_streams.hpp"
#include "guest-agent/system/console.hpp"
#include "guest-agent/system/small_file.hpp"
#include "protocol/base/name.hpp"
#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/limits.hpp"
#include "protocol/wire/operations.hpp"

#include <algorithm>
#include <sys/stat.h>
#include <type_traits>
#include <utility>
#include <variant>

namespace guest_agent {

using protocol::Failure;
using protocol::Kind;
using protocol::Result;
using protocol::StreamId;
namespace operation = protocol::operation;

namespace {

constexpr std::string_view proxy_address = "127.0.0.1:3128";

// Names of mounts and secrets become the last part of a path; the host has checked them, and this
// checks them again because a mistake there must not write outside /mnt.
Result<void> check_name(const std::string& name) {
    if (protocol::is_valid_name(name)) return {};
    return protocol::fail(Kind::invalid_argument, "not a valid name");
}

std::string answer_text(const Result<void>& answer) {
    return answer ? protocol::encode_end(protocol::Done())
                  : protocol::encode_end_failure(answer.error());
}

// Decodes an operation's request and hands it to `handler`, which answers now or (nullopt) later.
template <typename T, typename Handler>
std::optional<Result<void>> decoded(const boost::json::value& body, Handler handler) {
    auto request = protocol::from_json<T>(body);
    if (!request) return Result<void>(protocol::fail(std::move(request).error()));
    return handler(*request);
}

protocol::EnvironmentEntry entry(std::string name, std::string value) {
    protocol::EnvironmentEntry made;
    made.name = std::move(name);
    made.value = std::move(value);
    return made;
}

}  // namespace

Service::Service(CommandContext& context, Machine& machine, ServicePaths paths)
    : context_(context),
      machine_(machine),
      paths_(std::move(paths)),
      commands_(context, paths_.root),
      peer_(context.executor),
      egress_(context.executor, streams_, operation::egress,
              protocol::limits::guest_egress_streams),
      api_(context.executor, streams_, operation::api, protocol::limits::guest_api_streams),
      streams_(context.executor, peer_),
      deadline_timer_(context.executor) {}

// ---- connections --------------------------------------------------------------------------------

void Service::on_link(std::shared_ptr<protocol::Link> link) {
    on_link_lost();
    peer_.connect(std::move(link));
}

void Service::on_link_lost() {
    peer_.disconnect();
    waiting_.clear();
    streams_.lose_all();
}

void Service::on_event(protocol::SessionEvent event) {
    if (std::holds_alternative<protocol::PeerReady>(event)) {
        // A new host over the same byte stream: what the earlier one had open is gone.
        waiting_.clear();
        streams_.lose_all();
    }
    if (ready_) {
        handle(std::move(event));
    } else {
        waiting_.push_back(std::move(event));  // bounded by stream limit and credit
    }
}

void Service::machine_ready() {
    ready_ = true;
    for (auto& event : std::exchange(waiting_, {})) handle(std::move(event));
}

void Service::handle(protocol::SessionEvent event) {
    std::visit(
        [this](auto& each) {
            using T = std::decay_t<decltype(each)>;
            if constexpr (std::is_same_v<T, protocol::PeerReady>) {
                egress_.resume();
                api_.resume();
            } else if constexpr (std::is_same_v<T, protocol::StreamOpened>) {
                open(each.stream, each.request);
            } else if constexpr (std::is_same_v<T, protocol::StreamData>) {
                streams_.on_data(each);
            } else if constexpr (std::is_same_v<T, protocol::StreamWritable>) {
                streams_.on_writable(each);
            } else if constexpr (std::is_same_v<T, protocol::StreamEnded>) {
                streams_.on_end(each);
            } else if constexpr (std::is_same_v<T, protocol::StreamReset>) {
                streams_.on_reset(each);
            }
            // StreamEvent and PeerBye: the host sends no events, and its bye is followed by the end
            // of the connection.
        },
        event);
}

// ---- operations ---------------------------------------------------------------------------------

void Service::open(StreamId id, const std::string& request) {
    auto named = protocol::decode_named(request, "operation");
    const auto answer = named ? dispatch(id, named->name, named->body)
                              : std::optional<Answer>(protocol::fail(std::move(named).error()));
    if (answer) peer_.end(id, answer_text(*answer));
}

std::optional<Service::Answer> Service::dispatch(StreamId id, const std::string& name,
                                                 const boost::json::value& body) {
    const auto command = [&](auto act) { return decoded<protocol::CommandReference>(body, act); };
    if (name == operation::command_start) {
        return decoded<protocol::CommandStart>(
            body, [&](const auto& request) { return start_command(id, request); });
    }
    if (name == operation::command_state) {
        return command([&](const auto& request) { return report_state(id, request.id); });
    }
    if (name == operation::command_forget) {
        return command([&](const auto& request) { return commands_.forget(request.id); });
    }
    if (name == operation::command_follow)
        return serve<FollowStream, protocol::CommandFollow>(id, body);
    if (name == operation::command_input)
        return serve<InputStream, protocol::CommandInput>(id, body);
    if (name == operation::command_signal) {
        return decoded<protocol::CommandSignal>(body, [&](const auto& request) -> Answer {
            TRY(const auto found, commands_.find(request.id));
            return found->signal(request.number, request.tree);
        });
    }
    if (name == operation::command_resize) {
        return decoded<protocol::CommandResize>(body, [&](const auto& request) -> Answer {
            TRY(const auto found, commands_.find(request.id));
            return found->resize(request.size);
        });
    }
    return dispatch_machine(id, name, body);
}

std::optional<Service::Answer> Service::dispatch_machine(StreamId id, const std::string& name,
                                                         const boost::json::value& body) {
    if (name == operation::machine_configure) {
        return decoded<protocol::MachineConfigure>(
            body, [&](const auto& request) { return configure(request); });
    }
    if (name == operation::machine_clock) {
        return decoded<protocol::ClockSet>(
            body, [&](const auto& request) { return machine_.set_clock(request.clock_unix_ns); });
    }
    if (name == operation::mount) {
        return decoded<protocol::Mount>(body, [&](const auto& request) { return mount(request); });
    }
    if (name == operation::secret_write) {
        return decoded<protocol::SecretWrite>(
            body, [&](const auto& request) { return write_secret(id, request); });
    }
    if (name == operation::machine_settle) {
        return decoded<protocol::Settle>(body,
                                         [&](const auto& request) { return settle(id, request); });
    }
    return Answer(protocol::fail(Kind::unsupported,
                                 "unknown operation " + protocol::escape_foreign(name, 64)));
}

template <typename Handler, typename Request>
std::optional<Service::Answer> Service::serve(StreamId id, const boost::json::value& body) {
    return decoded<Request>(body, [&](const Request& request) -> std::optional<Answer> {
        auto command = commands_.find(request.id);
        if (!command) return Answer(protocol::fail(std::move(command).error()));
        streams_.add(id, std::make_shared<Handler>(streams_, id, std::move(*command), request));
        return std::nullopt;
    });
}

std::optional<Service::Answer> Service::start_command(StreamId id,
                                                      const protocol::CommandStart& request) {
    // A known command may still be asked for; new ones would use what settling has taken away.
    if (settled_ && !commands_.find(request.id)) {
        return Answer(protocol::fail(Kind::conflict, "the machine is stopping"));
    }
    auto command = commands_.start(request);
    if (!command) return Answer(protocol::fail(std::move(command).error()));
    streams_.add(id, std::make_shared<StartStream>(streams_, id, std::move(*command)));
    return std::nullopt;
}

std::optional<Service::Answer> Service::report_state(StreamId id, const std::string& command_id) {
    auto command = commands_.find(command_id);
    if (!command) return Answer(protocol::fail(std::move(command).error()));
    peer_.end(id, protocol::encode_end((*command)->report()));
    return std::nullopt;
}

std::optional<Service::Answer> Service::write_secret(StreamId id,
                                                     const protocol::SecretWrite& request) {
    if (auto checked = check_name(request.name); !checked) return checked;
    if (request.size > protocol::limits::secret_bytes) {
        return Answer(protocol::fail(Kind::too_large, "the secret is too large"));
    }
    streams_.add(id, std::make_shared<SecretStream>(streams_, id, machine_, request));
    return std::nullopt;
}

Service::Answer Service::mount(const protocol::Mount& request) {
    TRY_VOID(check_name(request.name));
    if (request.name == "secrets") {
        return protocol::fail(Kind::invalid_argument, "'secrets' is a reserved name");
    }
    return machine_.mount(request);
}

// ---- the machine as a whole
// -----------------------------------------------------------------------

Service::Answer Service::configure(const protocol::MachineConfigure& request) {
    TRY_VOID(check_name(request.hostname));
    TRY_VOID(machine_.set_hostname(request.hostname));
    if (request.clock_unix_ns) TRY_VOID(machine_.set_clock(*request.clock_unix_ns));
    TRY_VOID(context_.groups.limit(request.commands_memory_max, request.commands_pids_max));
    std::vector<protocol::EnvironmentEntry> environment;
    const auto add_file = [&](const std::string& path) {
        const auto text = read_small_file(path);
        if (!text) return;  // an image without it
        const auto entries = parse_environment_file(*text);
        environment.insert(environment.end(), entries.begin(), entries.end());
    };
    add_file(paths_.environment_file);
    if (!request.proxy.empty()) add_file(paths_.proxy_environment_file);
    if (!request.namespace_name.empty()) {
        environment.push_back(entry("MAITENTO_NAMESPACE", request.namespace_name));
    }
    environment.insert(environment.end(), request.environment.begin(), request.environment.end());
    commands_.set_environment(std::move(environment));
    TRY_VOID(open_tunnels(request));
    std::vector<protocol::EnvironmentEntry> api;
    if (!request.run_id.empty()) api.push_back(entry("MAITENTO_URL", "unix://" + api_socket()));
    commands_.set_api_environment(std::move(api));
    arm_deadline(request.deadline_ms);
    return {};
}

std::string Service::api_socket() const {
    return paths_.api_folder + "/api.sock";
}

Service::Answer Service::open_tunnels(const protocol::MachineConfigure& request) {
    egress_.close();
    api_.close();
    if (!request.proxy.empty()) {
        if (request.proxy != proxy_address) {
            return protocol::fail(Kind::invalid_argument,
                                  "the proxy can only be at 127.0.0.1:3128");
        }
        TRY(auto listener, listen_local_tcp(paths_.proxy_port));
        egress_.listen(std::move(listener));
    }
    if (!request.run_id.empty()) {
        ::mkdir(paths_.api_folder.c_str(), 0755);  // there already after a restore
        TRY(auto listener, listen_unix(api_socket(), default_user));
        api_.listen(std::move(listener));
    }
    return {};
}

void Service::arm_deadline(std::uint64_t after_ms) {
    deadline_timer_.cancel();
    if (after_ms == 0) return;
    constexpr std::uint64_t longest_ms = 366ULL * 24 * 3'600 * 1'000;
    deadline_timer_.expires_after(std::chrono::milliseconds(std::min(after_ms, longest_ms)));
    deadline_timer_.async_wait([this](const boost::system::error_code& error) {
        if (error) return;
        say("deadline reached");
        // The host ends the machine; here only what must be done inside.
        stop_everything(false, [this](const Answer&) { notice("deadline"); });
    });
}

std::optional<Service::Answer> Service::settle(StreamId id, const protocol::Settle& request) {
    const auto pending = std::make_shared<PendingStream>(streams_, id);
    streams_.add(id, pending);
    stop_everything(request.keep_commands,
                    [weak = std::weak_ptr<PendingStream>(pending)](const Answer& answer) {
                        if (const auto stream = weak.lock()) stream->finish(answer_text(answer));
                    });
    return std::nullopt;
}

void Service::stop_everything(bool keep_commands, std::function<void(Answer)> done) {
    if (keep_commands) return machine_.release_vfs(false, std::move(done));
    settled_ = true;
    commands_.kill_all([this, done = std::move(done)] { machine_.release_vfs(true, done); });
}

void Service::power(const std::string& action) {
    if (std::exchange(powering_off_, true)) return;
    say(action + " was asked for");
    notice(action);
    // Reboot and halt end the machine as well: the host makes a new one for each run.
    stop_everything(false, [this](const Answer&) { machine_.power_off(); });
}

void Service::notice(const std::string& action) {
    protocol::PowerNotice notice;
    notice.action = action;
    peer_.event(StreamId::connection, protocol::encode_event(protocol::event::power, notice));
    peer_.flush();
}

}  // namespace guest_agent
