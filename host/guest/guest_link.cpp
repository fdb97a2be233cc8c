#include "host/guest/guest_link.hpp"

#include "host/guest/call.hpp"
#include "host/guest/command_run.hpp"
#include "host/guest/input_writer.hpp"
#include "host/guest/link_core.hpp"
#include "host/guest/output_follower.hpp"
#include "host/guest/report_check.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/operations.hpp"

#include <unordered_map>

#include <boost/asio/co_spawn.hpp>

namespace host::guest {

namespace operation = protocol::operation;
using protocol::Kind;
using sandbox::Async;
using std::chrono::steady_clock;

namespace {

// Of one run, at a time: what a wide window may fill is memory of agent and daemon.
constexpr std::size_t most_wide_followers = 4;

// Takes an operation back when the coroutine that waits for it goes away.
template <typename Op>
class DropGuard {
  public:
    DropGuard(std::shared_ptr<LinkCore> core, std::shared_ptr<Op> op)
        : core_(std::move(core)), op_(std::move(op)) {}
    DropGuard(const DropGuard&) = delete;
    DropGuard& operator=(const DropGuard&) = delete;
    ~DropGuard() {
        if (core_) core_->drop(op_->key, op_->port);
    }
    void dismiss() { core_.reset(); }

  private:
    std::shared_ptr<LinkCore> core_;
    std::shared_ptr<Op> op_;
};

class GuestLink final : public sandbox::Guest, public std::enable_shared_from_this<GuestLink> {
  public:
    explicit GuestLink(std::shared_ptr<LinkCore> core) : core_(std::move(core)) {}

    Async<protocol::Hello> connect(sandbox::Deadline deadline,
                                   std::string expected_boot_id) override {
        return core_->connect(deadline, std::move(expected_boot_id));
    }
    Async<void> configure(protocol::MachineConfigure request) override;
    Async<void> set_clock(std::int64_t unix_ns) override;
    Async<void> mount(protocol::Mount request) override;
    Async<void> write_secret(std::string name, std::string bytes) override;
    Async<protocol::CommandReport> run(protocol::CommandStart request,
                                       std::function<void()> started) override;
    Async<protocol::CommandReport> state(std::string command_id) override;
    Async<void> forget(std::string command_id) override;
    Async<void> signal(protocol::CommandSignal request) override;
    Async<void> resize(protocol::CommandResize request) override;
    std::shared_ptr<sandbox::Follower> follow(protocol::CommandFollow request) override;
    std::shared_ptr<sandbox::InputSink> input(protocol::CommandInput request) override;
    Async<void> settle(std::chrono::milliseconds limit) override;
    Async<std::chrono::nanoseconds> ping() override;
    void expect_silence(bool expected) override { core_->expect_silence(expected); }
    void close() override { core_->close(); }

  private:
    Async<boost::json::value> call(std::function<std::string()> make_request,
                                   std::optional<std::string> body,
                                   std::chrono::milliseconds limit);
    // A call whose answer says no more than that it was done.
    template <typename Request>
    Async<void> order(const char* name, Request request);
    Async<void> done(Async<boost::json::value> asked);

    std::shared_ptr<LinkCore> core_;
    // Standard inputs in use, by command id.
    std::unordered_map<std::string, std::shared_ptr<InputWriter>> inputs_;
    std::unordered_map<std::string, std::weak_ptr<CommandRun>> runs_;
    std::vector<std::weak_ptr<OutputFollower>> wide_followers_;
};

Async<boost::json::value> GuestLink::call(std::function<std::string()> make_request,
                                          std::optional<std::string> body,
                                          std::chrono::milliseconds limit) {
    const auto core = core_;
    const auto asked =
        std::make_shared<Call>(core->executor(), std::move(make_request), std::move(body));
    const auto deadline = steady_clock::now() + limit;
    const DropGuard<Call> guard(core, asked);
    core->add(asked);
    while (!asked->answer) {
        if (steady_clock::now() >= deadline)
            co_return protocol::fail(Kind::timed_out, "the agent did not answer in time");
        const bool go_on = co_await asked->changed.wait(deadline);
        if (!go_on) co_return protocol::fail(Kind::unavailable, "the call was cancelled");
    }
    co_return std::move(*asked->answer);
}

Async<void> GuestLink::done(Async<boost::json::value> asked) {
    const auto answer = co_await std::move(asked);
    CO_TRY_VOID(answer);
    co_return Result<void>();
}

template <typename Request>
Async<void> GuestLink::order(const char* name, Request request) {
    std::string text = protocol::encode_request(name, request);
    auto make_request = [text = std::move(text)] { return text; };
    return done(call(std::move(make_request), std::nullopt, protocol::limits::call_answer));
}

Async<void> GuestLink::configure(protocol::MachineConfigure request) {
    // Deadline and clock count from now, also when a lost connection makes it be asked again later.
    auto make_request = [request = std::move(request), asked = steady_clock::now()] {
        protocol::MachineConfigure current = request;
        const auto passed = steady_clock::now() - asked;
        const auto passed_ms = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::milliseconds>(passed).count());
        current.deadline_ms -= std::min(current.deadline_ms, passed_ms);
        if (current.clock_unix_ns) {
            *current.clock_unix_ns +=
                std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count();
        }
        return protocol::encode_request(operation::machine_configure, current);
    };
    return done(call(std::move(make_request), std::nullopt, protocol::limits::call_answer));
}

Async<void> GuestLink::set_clock(std::int64_t unix_ns) {
    auto make_request = [unix_ns, asked = steady_clock::now()] {
        protocol::ClockSet current;
        const auto passed = steady_clock::now() - asked;
        current.clock_unix_ns =
            unix_ns + std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count();
        return protocol::encode_request(operation::machine_clock, current);
    };
    return done(call(std::move(make_request), std::nullopt, protocol::limits::call_answer));
}

Async<void> GuestLink::mount(protocol::Mount request) {
    return order(operation::mount, std::move(request));
}

Async<void> GuestLink::write_secret(std::string name, std::string bytes) {
    if (bytes.size() > protocol::limits::secret_bytes) {
        co_return protocol::fail(
            Kind::too_large,
            "a secret has at most " + std::to_string(protocol::limits::secret_bytes) + " bytes");
    }
    protocol::SecretWrite request;
    request.name = std::move(name);
    request.size = static_cast<std::uint32_t>(bytes.size());
    std::string text = protocol::encode_request(operation::secret_write, request);
    auto make_request = [text = std::move(text)] { return text; };
    auto asked = call(std::move(make_request), std::move(bytes), protocol::limits::call_answer);
    const auto answer = co_await std::move(asked);
    CO_TRY_VOID(answer);
    co_return Result<void>();
}

Async<protocol::CommandReport> GuestLink::run(protocol::CommandStart request,
                                              std::function<void()> started) {
    const auto self = shared_from_this();
    const std::string id = request.id;
    auto late = [weak = std::weak_ptr<LinkCore>(core_)](protocol::CommandReport report) {
        const auto core = weak.lock();
        if (core && core->callbacks().late_report) core->callbacks().late_report(std::move(report));
    };
    const auto command = std::make_shared<CommandRun>(core_->executor(), std::move(request),
                                                      std::move(started), std::move(late));
    DropGuard<CommandRun> guard(core_, command);
    runs_[id] = command;
    core_->add(command);
    while (!command->result) {
        const bool go_on = co_await command->changed.wait();
        if (!go_on)
            co_return protocol::fail(Kind::unavailable, "waiting for the command was cancelled");
    }
    // It lives on in the core for late output, until its end or forget().
    guard.dismiss();
    co_return *command->result;
}

Async<protocol::CommandReport> GuestLink::state(std::string command_id) {
    const auto self = shared_from_this();
    protocol::CommandReference reference;
    reference.id = command_id;
    std::string text = protocol::encode_request(operation::command_state, reference);
    auto make_request = [text = std::move(text)] { return text; };
    auto asked = call(std::move(make_request), std::nullopt, protocol::limits::call_answer);
    const auto answer = co_await std::move(asked);
    CO_TRY_VOID(answer);
    auto report = protocol::from_json<protocol::CommandReport>(*answer);
    if (report) report = check_report(std::move(*report), command_id, ReportOf::any_command);
    if (!report) self->core_->on_violation(report.error());
    co_return report;
}

Async<void> GuestLink::forget(std::string command_id) {
    const auto self = shared_from_this();
    // From now on the agent may have no such command: asking for it again would run it again.
    if (const auto found = runs_.find(command_id); found != runs_.end()) {
        if (const auto command = found->second.lock()) {
            command->forget();
            core_->drop(command->key, command->port);
        }
        runs_.erase(found);
    }
    protocol::CommandReference reference;
    reference.id = std::move(command_id);
    auto ordered = order(operation::command_forget, std::move(reference));
    const auto answer = co_await std::move(ordered);
    // Forgotten by an earlier try whose answer was lost.
    if (!answer && answer.error().kind() != Kind::not_found) co_return answer;
    co_return Result<void>();
}

Async<void> GuestLink::signal(protocol::CommandSignal request) {
    return order(operation::command_signal, std::move(request));
}

Async<void> GuestLink::resize(protocol::CommandResize request) {
    return order(operation::command_resize, std::move(request));
}

std::shared_ptr<sandbox::Follower> GuestLink::follow(protocol::CommandFollow request) {
    std::erase_if(wide_followers_, [](const auto& each) { return each.expired(); });
    const bool wide = wide_followers_.size() < most_wide_followers;
    const auto follower = std::make_shared<OutputFollower>(
        core_->executor(), std::move(request),
        wide ? core_->follow_window() : protocol::limits::window_bytes);
    if (wide) wide_followers_.push_back(follower);
    const std::weak_ptr<LinkCore> weak = core_;
    follower->willing = [weak, raw = follower.get()] {
        if (const auto core = weak.lock()) core->reopen(raw->key);
    };
    follower->dropped = [weak, raw = follower.get()] {
        if (const auto core = weak.lock()) core->drop(raw->key, raw->port);
    };
    core_->add(follower);
    return {follower.get(), [follower](sandbox::Follower*) { follower->close(); }};
}

std::shared_ptr<sandbox::InputSink> GuestLink::input(protocol::CommandInput request) {
    const std::uint64_t from = request.from;
    std::shared_ptr<InputWriter>& writer = inputs_[request.id];
    if (writer == nullptr) {
        const std::string id = request.id;
        writer = std::make_shared<InputWriter>(core_->executor(), std::move(request));
        writer->finished = [weak = weak_from_this(), id] {
            if (const auto self = weak.lock()) self->inputs_.erase(id);
        };
        // Adding may finish it at once, which empties the entry.
        const auto added = writer;
        core_->add(added);
        return std::make_shared<InputPiece>(added, from);
    }
    return std::make_shared<InputPiece>(writer, from);
}

Async<void> GuestLink::settle(std::chrono::milliseconds limit) {
    std::string text = protocol::encode_request(operation::machine_settle, protocol::Settle());
    auto make_request = [text = std::move(text)] { return text; };
    return done(call(std::move(make_request), std::nullopt, limit));
}

Async<std::chrono::nanoseconds> GuestLink::ping() {
    // The cheapest question that passes through the agent's own loop: a command it cannot know.
    protocol::CommandReference reference;
    reference.id = protocol::CommandId::random().str();
    std::string text = protocol::encode_request(operation::command_state, reference);
    auto make_request = [text = std::move(text)] { return text; };
    const auto began = steady_clock::now();
    auto asked = call(std::move(make_request), std::nullopt, protocol::limits::call_answer);
    const auto answer = co_await std::move(asked);
    if (!answer && answer.error().kind() != Kind::not_found)
        co_return protocol::fail(answer.error());
    co_return std::chrono::nanoseconds(steady_clock::now() - began);
}

}  // namespace

std::shared_ptr<sandbox::Guest> make_guest(boost::asio::any_io_executor executor,
                                           const protocol::RunId& run,
                                           sandbox::GuestAddress address,
                                           sandbox::GuestCallbacks callbacks, Patience patience) {
    const auto core = std::make_shared<LinkCore>(std::move(executor), run, std::move(address),
                                                 std::move(callbacks), patience);
    const auto link = std::make_shared<GuestLink>(core);
    return {link.get(), [link](sandbox::Guest*) { link->close(); }};
}

}  // namespace host::guest
