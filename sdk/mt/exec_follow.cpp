#include "sdk/mt/exec_follow.hpp"

#include "protocol/wire/json_codec.hpp"

#include <csignal>
#include <sched.h>
#include <unistd.h>

namespace mt {
namespace {

using namespace std::chrono_literals;
using protocol::fail;
using protocol::Failure;

constexpr char command_ended_code[] = "command-ended";
constexpr char guest_unavailable_code[] = "guest-unavailable";
constexpr auto first_delay = 50ms;
constexpr auto largest_delay = 1'000ms;

}  // namespace

int report_ended_command(Context& context, const sdk::Command& command) {
    if (command.status != "Aborted" && command.exit_code) return *command.exit_code;
    std::string text = "the command was " +
                       std::string(command.status == "Aborted" ? "aborted" : "not run to its end");
    if (!command.reason.empty()) {
        text += ": " + command.reason;
    } else if (!command.end_reason.empty()) {
        text += ": " + command.end_reason;
    }
    context.note(text);
    return exit_own_failure;
}

ExecFollow::ExecFollow(Context& context, const SignalTrap& trap, std::string run,
                       std::string command)
    : context_(context),
      trap_(trap),
      run_(std::move(run)),
      command_(std::move(command)),
      settings_(context.settings().woken_by(&trap.interrupt())),
      follower_(settings_) {
    standard_.fd = STDOUT_FILENO;
    standard_.name = "standard output";
    error_.fd = STDERR_FILENO;
    error_.name = "error output";
}

Result<int> ExecFollow::run() {
    // Awake, it does not interrupt the daemon and QEMU in the middle of what they are sending.
    const struct sched_param standard {};
    ::sched_setscheduler(0, SCHED_BATCH, &standard);
    for (;;) {
        TRY(const Step next, step());
        if (next == Step::detached) {
            context_.note("detached; the command goes on: mt commands show " + run_ + " " +
                          command_);
            return exit_own_failure;
        }
        if (next == Step::ask) {
            sdk::Client client(settings_);
            auto command = client.command(run_, command_);
            if (!command) {
                TRY(const Step after, failed(std::move(command).error()));
                if (after == Step::detached) return exit_own_failure;
            } else if (command->has_ended()) {
                complete(standard_, command->output_standard,
                         !command->output_standard_full_length);
                complete(error_, command->output_error, !command->output_error_full_length);
                return finish(*command);
            } else if (pause() == Step::detached) {
                return exit_own_failure;
            }
        }
        if (ended_) return finish(*ended_);
    }
}

// One thing that happens. `ask`: the live output is over, the command knows more.
Result<ExecFollow::Step> ExecFollow::step() {
    if (!connected_) {
        sdk::OutputOffsets offsets;
        offsets.standard = standard_.offset;
        offsets.error = error_.offset;
        if (auto opened = follower_.open(run_, command_, offsets); !opened) {
            return failed(std::move(opened).error());
        }
        connected_ = true;
    }
    auto record = follower_.next();
    if (!record) return failed(std::move(record).error());
    if (!*record) {
        connected_ = false;
        return Step::ask;
    }
    failing_since_.reset();
    return take(**record);
}

Result<ExecFollow::Step> ExecFollow::take(const sdk::OutputRecord& record) {
    switch (record.type) {
        case sdk::OutputRecord::Type::bytes:
            deliver(output_of(record.stream), record.offset, record.payload);
            break;
        case sdk::OutputRecord::Type::gap:
            skip_to(output_of(record.stream), record.gap_end);
            break;
        case sdk::OutputRecord::Type::command_ended: {
            // Everything printed before is out. Later output of background children is not waited
            // for.
            TRY(const auto document, protocol::parse_json(record.payload));
            TRY(ended_, sdk::read_command(document));
            break;
        }
        case sdk::OutputRecord::Type::stream_ended:
        case sdk::OutputRecord::Type::keep_alive:
            break;
    }
    return Step::go_on;
}

Result<ExecFollow::Step> ExecFollow::failed(Failure failure) {
    if (sdk::is_interrupted(failure)) return interrupted();
    connected_ = false;
    if (failure.code() == command_ended_code) return Step::ask;
    // A daemon that has just started may not have reached the machine yet.
    const bool may_pass =
        sdk::is_connection_failure(failure) || failure.code() == guest_unavailable_code;
    if (!may_pass) return fail(std::move(failure));
    const auto now = std::chrono::steady_clock::now();
    if (!failing_since_) {
        failing_since_ = now;
        delay_ = 0ms;
    }
    if (now - *failing_since_ > sdk::reconnect_limit) return fail(std::move(failure));
    return pause();
}

ExecFollow::Step ExecFollow::pause() {
    const auto waiting = std::max(delay_, std::chrono::milliseconds(first_delay));
    delay_ = std::min<std::chrono::milliseconds>(2 * waiting, largest_delay);
    if (trap_.interrupt().wait(static_cast<int>(waiting.count()))) return interrupted();
    return Step::reconnect;
}

ExecFollow::Step ExecFollow::interrupted() {
    trap_.interrupt().clear();
    if (trap_.count() > 1) return Step::detached;
    if (!interrupt_sent_) {
        interrupt_sent_ = true;
        send_signal(SIGINT);
    }
    return Step::go_on;
}

void ExecFollow::send_signal(int signal) {
    sdk::Client client = context_.make_client(nullptr);
    if (auto sent = client.kill(run_, command_, signal); !sent) {
        if (sent.error().code() != command_ended_code) context_.note(sent.error().describe());
    }
}

ExecFollow::Output& ExecFollow::output_of(sdk::OutputStream stream) {
    return stream == sdk::OutputStream::error ? error_ : standard_;
}

void ExecFollow::deliver(Output& output, std::uint64_t offset, std::string_view bytes) {
    if (offset > output.offset) skip_to(output, offset);
    const std::uint64_t known = output.offset - offset;
    if (known >= bytes.size()) return;
    bytes.remove_prefix(static_cast<std::size_t>(known));
    output.offset += bytes.size();
    if (!output.open || write_all(output.fd, bytes)) return;
    // Nobody reads any more. As in a pipe of a shell, the command is told so.
    output.open = false;
    send_signal(SIGPIPE);
}

void ExecFollow::skip_to(Output& output, std::uint64_t offset) {
    if (offset <= output.offset) return;
    context_.note(std::to_string(offset - output.offset) + " bytes of " + output.name +
                  " were lost: they were not read in time");
    output.offset = offset;
}

void ExecFollow::complete(Output& output, const std::string& kept, bool is_all) {
    static constexpr std::string_view replacement = "\xEF\xBF\xBD";
    if (is_all && kept.size() == output.offset) return;
    // Text without a replacement character is the output byte for byte, so offsets mean the same.
    const bool exact = is_all && kept.find(replacement) == std::string::npos;
    if (exact && kept.size() > output.offset) {
        deliver(output, output.offset, std::string_view(kept).substr(output.offset));
    } else if (!exact && output.offset == 0 && !kept.empty()) {
        deliver(output, 0, kept);
        context_.note(std::string(output.name) + ": this is what was kept of it");
    } else if (!exact) {
        context_.note("the end of " + std::string(output.name) +
                      " could not be followed; what was kept: mt commands show " + run_ + " " +
                      command_);
    }
}

int ExecFollow::finish(const sdk::Command& command) {
    return report_ended_command(context_, command);
}

}  // namespace mt
