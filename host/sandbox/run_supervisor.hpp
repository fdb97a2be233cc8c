#pragma once
// RunSupervisor: one run from its first row in the database to its published end. Three kinds of
// coroutines: bring_up() (the steps of Starting), end() (taking it down, exactly once) and those of
// its commands. Whatever ends the run goes through request_end(): the status it will have is stored
// first, then the machine is taken down, then the status is published.
//
// Split by what happens: run_supervisor.cpp (state and causes), run_boot.cpp, run_steps.cpp,
// run_startup.cpp, run_end.cpp, run_recovery.cpp. Loop thread only; its coroutines keep it alive.

#include "host/sandbox/command_queue.hpp"
#include "host/sandbox/core.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace host::sandbox {

class RunSupervisor : public std::enable_shared_from_this<RunSupervisor> {
  public:
    RunSupervisor(std::shared_ptr<Core> core, model::RunRecord record);

    // A new run; its row and those of its start-up commands are stored.
    void begin(BootImage image);
    // A run of an earlier daemon. It waits until resolve() says what libvirt knows of its machine.
    Result<void> recover();
    void resolve(std::optional<Machine> machine);

    const model::RunRecord& record() const { return record_; }
    bool ending() const {
        return record_.pending_status.has_value() || is_terminal(record_.status);
    }
    // The machine should be there; a list without it means that it is gone.
    bool has_machine() const { return has_machine_ && !ending(); }
    // Status, phase, or the end.
    Condition& changed() { return changed_; }
    const std::shared_ptr<CommandQueue>& commands() const { return commands_; }
    // nullptr before the agent was heard.
    std::shared_ptr<Guest> guest() const { return connected_ ? guest_ : nullptr; }

    // ---- causes of an end; all but the first one change nothing ----
    void stop(const std::string& who);
    void on_machine_event(const MachineEvent& event);
    void on_machine_missing();

    // It stands still by an administrator's wish, and with it its clock, until it goes on.
    void on_machine_paused();
    void on_machine_resumed();
    bool paused() const { return paused_; }
    int resumes() const { return resumes_; }  // so far
    // The daemon goes, the run stays.
    void detach();

  private:
    enum class MachineState : std::uint8_t { none, running };
    // A first parameter of this type only keeps the supervisor alive as long as the coroutine runs.
    using Self = std::shared_ptr<RunSupervisor>;

    // ---- run_supervisor.cpp ----
    void request_end(model::RunEvent event, std::string details);
    // Logs the details too: not for what a recipe's command has printed. Changes nothing while a
    // cause waits for a better one: what fails then comes of it.
    void fail(std::string details);
    // Whatever else has been heard.
    void fail_surely(std::string details);
    // For causes that a better reason may follow.
    void fail_after(std::chrono::milliseconds delay, std::string details);
    Result<void> store(std::string_view event);
    Result<void> enter_phase(model::RunPhase phase);
    void arm_deadline();
    void on_deadline();
    std::int64_t left_ms() const;
    Deadline steady_deadline(std::int64_t limit_ms) const;
    // Failure when the run is ending or the daemon is: a step must not go on.
    Result<void> still_wanted() const;

    // ---- run_boot.cpp ----
    boost::asio::awaitable<void> bring_up(Self self, MachineState machine);
    Async<void> bring_up_steps(MachineState machine);
    Async<void> boot();
    Async<MachineSpec> prepare_machine(Platform platform);
    Async<std::vector<SharedFolder>> prepare_folders();
    void take_machine(const Machine& machine);
    Async<void> connect(Deadline deadline);
    GuestCallbacks callbacks();
    void on_power(const protocol::PowerNotice& notice);
    void on_virtiofsd_died(std::size_t folder);
    boost::asio::awaitable<void> correct_clock(Self self);

    // ---- run_steps.cpp ----
    Async<void> configure();
    Async<void> mount_all();
    Async<void> create_users();
    Async<void> install_packages();
    // A step's own program, as root.
    Async<protocol::CommandReport> run_program(std::uint16_t step, std::string program,
                                               std::vector<std::string> arguments);
    boost::asio::awaitable<void> forget_programs();

    // ---- run_startup.cpp ----
    Async<void> run_startup();
    // Attaches to start-up commands of an adopted, running run.
    Result<void> resume_startup();
    Async<void> run_startup_command(std::size_t index);
    boost::asio::awaitable<void> run_in_background(Self self, std::size_t index);
    Result<void> store_startup(const model::CommandRecord& command);
    void become_ready();
    void finish_if_done();

    // ---- run_end.cpp ----
    boost::asio::awaitable<void> end(Self self);
    bool can_ask() const;
    boost::asio::awaitable<void> settle();
    boost::asio::awaitable<void> collect(Self self, std::shared_ptr<bool> done);
    boost::asio::awaitable<void> abort_commands();
    Async<void> try_destroy();
    boost::asio::awaitable<void> remove_machine();
    boost::asio::awaitable<void> remove_disks();
    boost::asio::awaitable<void> publish();
    boost::asio::awaitable<void> explain_by_console();
    boost::asio::awaitable<void> pause_or_change(std::chrono::milliseconds limit);
    boost::asio::awaitable<void> pause(std::chrono::milliseconds duration);
    void tidy_records();

    // ---- run_recovery.cpp ----
    boost::asio::awaitable<void> recover_run(Self self);
    boost::asio::awaitable<void> adopt(Machine machine);

    std::shared_ptr<Core> core_;
    model::RunRecord record_;
    std::optional<BootImage> image_;
    Condition changed_;
    std::shared_ptr<CommandQueue> commands_;
    std::shared_ptr<Guest> guest_;
    bool connected_ = false;    // connect() has succeeded
    bool guest_usable_ = true;  // false: nobody answers any more, do not wait for it
    bool has_machine_ = false;
    bool virtiofsd_died_ = false;
    bool paused_ = false;  // the machine, by an administrator
    int resumes_ = 0;
    std::string waiting_cause_;  // what fail_after() was given; "": nothing
    bool bringing_up_ = false;
    bool recovering_ = false;       // what libvirt knows is not known yet
    bool ended_ = false;            // end() was started
    bool look_at_console_ = false;  // why it went down may be written there
    std::optional<std::optional<Machine>> resolved_;
    std::unique_ptr<Alarm> deadline_, grace_;
    std::vector<std::unique_ptr<Alarm>> virtiofsd_;
    std::vector<model::CommandRecord> startup_;
    std::size_t startup_open_ = 0;       // wait = false entries that still run
    std::vector<std::string> programs_;  // ids of the steps' programs, until the phase is over
};

}  // namespace host::sandbox
