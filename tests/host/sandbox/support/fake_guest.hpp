#pragma once
// FakeAgent: what lives inside a fake machine and outlives a daemon. FakeGuest: one daemon's
// connection to it.

#include "host/sandbox/condition.hpp"
#include "host/sandbox/guest.hpp"
#include "support/faults.hpp"

#include <map>
#include <set>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace host::sandbox {

inline protocol::CommandReport report_of(const std::string& id, std::string kind, int code,
                                         std::string output = "", std::string error = "") {
    protocol::CommandReport report;
    report.id = id;
    report.kind = std::move(kind);
    report.code = code;
    report.output.characters = output.size();
    report.output.window = std::move(output);
    report.error.characters = error.size();
    report.error.window = std::move(error);
    return report;
}

class FakeGuest;

struct FakeAgent {
    struct Command {
        protocol::CommandStart request;
        int started = 0;
        std::optional<protocol::CommandReport> report;
        std::string input;
        bool input_closed = false;
    };
    std::string boot_id = protocol::BootId::random().str();
    std::map<std::string, Command> commands;
    std::vector<std::string> order;     // ids in the order they were started
    std::vector<std::string> programs;  // "useradd -m ..." as run
    std::vector<std::string> mounts;
    std::map<std::string, std::string> secrets;
    std::optional<protocol::MachineConfigure> configured;
    std::int64_t clock_unix_ns = 0;  // as set after a pause
    bool silence_expected = false;
    bool settled = false;
    bool answers = true;
    std::set<std::string> forgotten;
    // What a command does by itself; nullopt: it runs until finish().
    std::function<std::optional<protocol::CommandReport>(const protocol::CommandStart&)> script;
    FakeGuest* connection = nullptr;

    void finish(const std::string& id, std::string kind, int code, std::string output = "",
                std::string error = "");
    std::string id_of(const std::string& shell) const {
        for (const auto& [id, command] : commands) {
            if (command.request.shell == shell) return id;
        }
        return {};
    }
};

class FakeGuest final : public Guest {
  public:
    FakeGuest(std::shared_ptr<FakeAgent> agent, boost::asio::any_io_executor executor,
              GuestCallbacks callbacks, Faults& faults)
        : agent_(std::move(agent)),
          executor_(executor),
          changed_(std::make_shared<Condition>(executor)),
          callbacks_(std::move(callbacks)),
          faults_(faults) {}
    ~FakeGuest() override {
        if (agent_->connection == this) agent_->connection = nullptr;
    }

    Async<protocol::Hello> connect(Deadline, std::string expected) override {
        co_await turn();
        CO_TRY_VOID(faults_.step("connect"));
        while (!agent_->answers && !closed_) co_await changed_->wait();
        CO_TRY_VOID(open());
        if (!expected.empty() && expected != agent_->boot_id) {
            co_return protocol::fail(protocol::Kind::unavailable, "another agent");
        }
        agent_->connection = this;
        protocol::Hello hello;
        hello.boot_id = agent_->boot_id;
        co_return hello;
    }
    Async<void> configure(protocol::MachineConfigure request) override {
        co_await turn();
        CO_TRY_VOID(call("configure"));
        agent_->configured = std::move(request);
        co_return Result<void>();
    }
    void expect_silence(bool expected) override { agent_->silence_expected = expected; }
    Async<void> set_clock(std::int64_t unix_ns) override {
        agent_->clock_unix_ns = unix_ns;
        co_return open();
    }
    Async<void> mount(protocol::Mount request) override {
        co_await turn();
        CO_TRY_VOID(call("mount"));
        agent_->mounts.push_back(request.tag + ":" + request.name +
                                 (request.read_only ? ":ro" : ""));
        co_return Result<void>();
    }
    Async<void> write_secret(std::string name, std::string bytes) override {
        co_await turn();
        CO_TRY_VOID(call("write_secret"));
        agent_->secrets[name] = std::move(bytes);
        co_return Result<void>();
    }
    Async<protocol::CommandReport> run(protocol::CommandStart request,
                                       std::function<void()> started) override {
        co_await turn();
        CO_TRY_VOID(call("run"));
        const auto agent = agent_;
        const auto changed = changed_;
        const std::string id = request.id;
        auto& command = agent->commands[id];
        if (command.started == 0) {
            command.started = 1;
            agent->order.push_back(id);
            if (request.program) {
                std::string line = *request.program;
                for (const auto& argument : request.arguments) line += " " + argument;
                agent->programs.push_back(line);
            }
            command.request = std::move(request);
            if (agent->script) command.report = agent->script(command.request);
            if (command.report) command.report->id = id;
        }
        started();
        while (!closed_ && !agent->commands[id].report) co_await changed->wait();
        CO_TRY_VOID(open());
        co_return *agent->commands[id].report;
    }
    Async<protocol::CommandReport> state(std::string id) override {
        co_await turn();
        CO_TRY_VOID(open());
        const auto found = agent_->commands.find(id);
        if (found == agent_->commands.end()) {
            co_return protocol::fail(protocol::Kind::not_found, "no such command");
        }
        if (found->second.report) co_return *found->second.report;
        co_return report_of(id, "", 0, "so far");
    }
    Async<void> forget(std::string id) override {
        co_await turn();
        CO_TRY_VOID(open());
        agent_->forgotten.insert(id);
        if (agent_->commands.erase(id) == 0) {
            co_return protocol::fail(protocol::Kind::not_found, "no such command");
        }
        co_return Result<void>();
    }
    Async<void> signal(protocol::CommandSignal request) override {
        CO_TRY_VOID(open());
        if (request.number == 9) agent_->finish(request.id, "killed", 137);
        co_return Result<void>();
    }
    Async<void> resize(protocol::CommandResize) override { co_return open(); }
    std::shared_ptr<Follower> follow(protocol::CommandFollow) override {
        return std::make_shared<FakeFollower>();
    }
    std::shared_ptr<InputSink> input(protocol::CommandInput request) override {
        return std::make_shared<FakeInput>(*this, std::move(request));
    }
    Async<void> settle(std::chrono::milliseconds) override {
        co_await turn();
        CO_TRY_VOID(open());
        for (auto& [id, command] : agent_->commands) {
            if (!command.report) command.report = report_of(id, "killed", 137);
        }
        agent_->settled = true;
        changed_->wake_all();
        co_return Result<void>();
    }
    Async<std::chrono::nanoseconds> ping() override { co_return std::chrono::nanoseconds(1); }
    void close() override {
        closed_ = true;
        changed_->wake_all();
    }

    void wake() { changed_->wake_all(); }
    GuestCallbacks& callbacks() { return callbacks_; }

  private:
    class FakeFollower final : public Follower {
      public:
        Async<std::optional<Chunk>> read() override { co_return std::optional<Chunk>(); }
        void close() override {}
    };

    // As the agent's: offsets count from the command's first byte, what was taken is skipped.
    class FakeInput final : public InputSink {
      public:
        FakeInput(FakeGuest& guest, protocol::CommandInput request)
            : guest_(guest), agent_(guest.agent_), request_(std::move(request)) {}
        Async<void> write(std::string bytes) override {
            const auto agent = agent_;
            co_await guest_.turn();
            CO_TRY_VOID(guest_.call("input"));
            auto& command = agent->commands.at(request_.id);
            const auto known = command.input.size() - request_.from;
            if (bytes.size() > known) command.input += bytes.substr(known);
            request_.from += bytes.size();
            co_return Result<void>();
        }
        Async<void> close() override {
            const auto agent = agent_;
            co_await guest_.turn();
            CO_TRY_VOID(guest_.call("close input"));
            agent->commands.at(request_.id).input_closed = true;
            co_return Result<void>();
        }

      private:
        FakeGuest& guest_;
        std::shared_ptr<FakeAgent> agent_;
        protocol::CommandInput request_;
    };

    Result<void> open() const {
        if (!closed_) return {};
        return protocol::fail(protocol::Kind::unavailable, "closed");
    }
    Result<void> call(const char* name) {
        TRY_VOID(open());
        return faults_.step(name);
    }

    // Every answer takes a turn of the loop, as it would over a link: a place where a daemon can
    // die.
    boost::asio::awaitable<void> turn() {
        co_await boost::asio::post(executor_, boost::asio::use_awaitable);
    }

    std::shared_ptr<FakeAgent> agent_;
    boost::asio::any_io_executor executor_;
    std::shared_ptr<Condition> changed_;
    GuestCallbacks callbacks_;
    Faults& faults_;
    bool closed_ = false;
};

inline void FakeAgent::finish(const std::string& id, std::string kind, int code, std::string output,
                              std::string error) {
    commands.at(id).report =
        report_of(id, std::move(kind), code, std::move(output), std::move(error));
    if (connection) connection->wake();
}

}  // namespace host::sandbox
