#pragma once
// World: a host that outlives its daemons. start_daemon() makes a service over it, kill_daemon() is
// kill -9: nothing of the daemon runs any more, everything it had stored or created stays.

#include "host/sandbox/service_impl.hpp"
#include "host/sandbox/spawn.hpp"
#include "support/fake_guest.hpp"
#include "support/fake_host.hpp"
#include "support/manual_clock.hpp"

#include <type_traits>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace host::sandbox {

// Runs work as handlers of the loop: one thread, and every step can be counted.
class LoopWorkers final : public Workers {
  public:
    explicit LoopWorkers(boost::asio::any_io_executor loop) : loop_(std::move(loop)) {}
    void post(std::function<void()> work) override {
        if (hang_at != 0 && --hang_at == 0) {
            hanging_ = std::move(work);
        } else {
            boost::asio::post(loop_, std::move(work));
        }
    }
    // The work that hangs comes to its end.
    void release() { boost::asio::post(loop_, std::exchange(hanging_, nullptr)); }

    void forget() { hanging_ = nullptr; }

    std::size_t hang_at = 0;  // 0: never; else the N-th work from now does not come back

  private:
    boost::asio::any_io_executor loop_;
    std::function<void()> hanging_;
};

class World {
  public:
    World() : database(std::move(*journal::Database::open(":memory:"))) {}
    ~World() { kill_daemon(); }

    void start_daemon(bool with_platform = true) {
        loop = std::make_unique<boost::asio::io_context>(1);
        workers = std::make_unique<LoopWorkers>(loop->get_executor());
        Parts parts(loop->get_executor());
        parts.database = &database;
        parts.hypervisor = &hypervisor;
        parts.disks = &disks;
        parts.workers = workers.get();
        parts.clock = &clock;
        parts.guests = [this](const RunId& run, const GuestAddress&, GuestCallbacks callbacks) {
            return std::make_shared<FakeGuest>(agent(run), loop->get_executor(),
                                               std::move(callbacks), faults);
        };
        parts.vault.seal = [](std::string_view name, std::string_view value) {
            return std::string(name) + "|" + std::string(value);
        };
        parts.vault.open = [](std::string_view name,
                              std::string_view sealed) -> Result<std::string> {
            return std::string(sealed.substr(name.size() + 1));
        };
        parts.vault.hash = [](std::string_view text) { return "#" + std::string(text); };
        parts.vault.random_key = [this] { return "key" + std::to_string(++keys); };
        parts.vfs.create = [this](const std::string& folder) -> Result<void> {
            vfs_folders.insert(folder);
            return faults.step("vfs.create");
        };
        parts.vfs.remove = [this](const std::string& folder) -> Result<void> {
            vfs_folders.erase(folder);
            return {};
        };
        parts.memory = [this] { return memory; };
        parts.watch_process = [this](pid_t pid, std::function<void()> died) {
            watched[pid] = std::move(died);
            return std::unique_ptr<Alarm>();
        };
        parts.settings = settings;
        service = std::make_shared<ServiceImpl>(std::move(parts));
        const auto opened = service->open();
        EXPECT_TRUE(opened) << opened.error().describe();
        if (with_platform) {
            Platform platform;
            platform.accelerator = Accelerator::tcg;
            platform.transport = Transport::serial;
            service->set_platform(platform);
        }
    }

    void kill_daemon() {
        watched.clear();
        service.reset();
        if (workers) workers->forget();
        loop.reset();
        workers.reset();
    }

    // Runs until nothing is left to do without time going on.
    void settle() {
        loop->restart();
        while (loop->poll_one() > 0) loop->restart();
    }
    // At most that many handlers.
    void steps(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            loop->restart();
            if (loop->poll_one() == 0) return;
        }
    }
    void advance(std::int64_t milliseconds) {
        const std::int64_t until = clock.boottime_ms() + milliseconds;
        settle();
        while (clock.ring_next(until)) settle();
        clock.set(until);
        settle();
    }

    // Runs a call of the service to its end, without time going on.
    template <typename T>
    std::optional<Result<T>> call(Async<T> task) {
        auto answer = std::make_shared<std::optional<Result<T>>>();
        later(std::move(task), [answer](Result<T> result) { answer->emplace(std::move(result)); });
        settle();
        return *answer;
    }
    // Goes on while the test does.
    template <typename T>
    void later(Async<T> task, std::type_identity_t<std::function<void(Result<T>)>> done) {
        spawn(loop->get_executor(), "test", finish(std::move(task), std::move(done)));
    }

    std::shared_ptr<FakeAgent> agent(const RunId& run) {
        auto& found = agents[run];
        if (!found) {
            found = std::make_shared<FakeAgent>();
            found->script = script;
        }
        return found;
    }

    void define(const std::string& name, model::Definition definition) {
        model::CapsuleRecord record;
        record.name.space = "default";
        record.name.name = name;
        record.definition = std::move(definition);
        ASSERT_TRUE(database.put_capsule(record));
    }
    model::QualifiedName capsule(const std::string& name) const {
        model::QualifiedName qualified;
        qualified.space = "default";
        qualified.name = name;
        return qualified;
    }
    RunId start(const std::string& name) {
        auto run = service->start(Principal(), capsule(name), "");
        EXPECT_TRUE(run) << run.error().describe();
        return run->id;
    }
    protocol::CommandId exec(const RunId& run, const std::string& text, bool async = false) {
        CommandRequest request;
        request.command = text;
        request.async = async;
        auto command = service->exec(Principal(), run, request, "");
        EXPECT_TRUE(command) << command.error().describe();
        return command->id;
    }
    model::RunRecord run(const RunId& id) { return *service->run(Principal(), id); }
    model::CommandRecord command(const RunId& run, const protocol::CommandId& id) {
        return **call(service->wait_command(Principal(), run, id, std::chrono::milliseconds(0)));
    }
    bool nothing_left() const {
        return hypervisor.machines.empty() && disks.folders.empty() && database_has_no_live_run();
    }
    bool database_has_no_live_run() const {
        return const_cast<journal::Database&>(database).live_runs()->empty();
    }

    Faults faults;
    ManualClock clock;
    journal::Database database;
    FakeHypervisor hypervisor{faults};
    FakeDisks disks{faults};
    std::map<RunId, std::shared_ptr<FakeAgent>> agents;
    std::function<std::optional<protocol::CommandReport>(const protocol::CommandStart&)> script;
    std::set<std::string> vfs_folders;
    std::map<pid_t, std::function<void()>> watched;
    HostMemory memory = [] {
        HostMemory all;
        all.total_bytes = 16ull << 30;
        all.available_bytes = 15ull << 30;
        return all;
    }();
    Settings settings;
    int keys = 0;

    std::unique_ptr<boost::asio::io_context> loop;
    std::unique_ptr<LoopWorkers> workers;
    std::shared_ptr<ServiceImpl> service;

    void close_service(bool& closed) {
        spawn(loop->get_executor(), "test", close_and_tell(service, closed));
    }

  private:
    static boost::asio::awaitable<void> close_and_tell(std::shared_ptr<ServiceImpl> service,
                                                       bool& closed) {
        co_await service->close();
        closed = true;
    }
    template <typename T>
    static boost::asio::awaitable<void> finish(Async<T> task, std::function<void(Result<T>)> done) {
        auto result = co_await std::move(task);
        done(std::move(result));
    }
};

// Programs of the start-up steps end well at once; commands run until a test ends them.
inline std::optional<protocol::CommandReport> programs_succeed(
    const protocol::CommandStart& start) {
    if (start.program) return report_of(start.id, "exited", 0);
    return std::nullopt;
}

}  // namespace host::sandbox
