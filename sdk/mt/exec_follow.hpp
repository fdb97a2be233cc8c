#pragma once
// ExecFollow: shows one command's output as it happens until the command has ended, over restarts
// of the daemon: it goes on at the byte offsets it has written, so nothing is lost or doubled. Main
// thread; Ctrl-C reaches it through the trap.

#include "sdk/cpp/client.hpp"
#include "sdk/cpp/output_follower.hpp"
#include "sdk/mt/context.hpp"
#include "sdk/mt/signal_trap.hpp"

#include <chrono>
#include <optional>

namespace mt {

class ExecFollow {
  public:
    ExecFollow(Context& context, const SignalTrap& trap, std::string run, std::string command);

    // The exit code for mt: the command's own, or 125 with the reason on standard error.
    Result<int> run();

  private:
    enum class Step : std::uint8_t { go_on, reconnect, ask, detached };
    struct Output {
        int fd = -1;
        std::uint64_t offset = 0;
        bool open = true;
        const char* name = "";
    };

    Result<Step> step();
    Result<Step> take(const sdk::OutputRecord& record);
    Result<Step> failed(protocol::Failure failure);
    Step interrupted();
    Step pause();
    Output& output_of(sdk::OutputStream stream);
    void deliver(Output& output, std::uint64_t offset, std::string_view bytes);
    void skip_to(Output& output, std::uint64_t offset);
    void send_signal(int signal);
    // What the daemon kept, when the live output can no longer be had.
    void complete(Output& output, const std::string& kept, bool is_all);
    int finish(const sdk::Command& command);

    Context& context_;
    const SignalTrap& trap_;
    std::string run_, command_;
    sdk::Settings settings_;
    sdk::OutputFollower follower_;
    bool connected_ = false;
    Output standard_, error_;
    std::optional<sdk::Command> ended_;
    std::optional<std::chrono::steady_clock::time_point> failing_since_;
    std::chrono::milliseconds delay_{0};
    bool interrupt_sent_ = false;
};

// Exit code and message for a command that has ended.
int report_ended_command(Context& context, const sdk::Command& command);

}  // namespace mt
