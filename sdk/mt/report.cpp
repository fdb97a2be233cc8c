#include "sdk/mt/report.hpp"

#include "sdk/mt/programs.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace mt {
namespace {

using protocol::Kind;

std::string advice(const protocol::Failure& failure, const Environment& environment) {
    if (failure.code() != sdk::unreachable_code) return {};
    const bool denied = failure.message().find("Permission denied") != std::string::npos;
    if (environment.is_inside_capsule()) {
        return denied ? "in a capsule only the user maitento is signed in\n"
                      : "this machine is ending, or is not a capsule\n";
    }
    const std::string prefix = "unix://";
    if (!environment.url.starts_with(prefix)) {
        return "is MAITENTO_URL right, and does capsuled there listen on TCP (--listen)?\n";
    }
    if (denied) return "you may not open the socket: use sudo, or join the group it belongs to\n";
    const std::string program = find_daemon();
    const bool systemd = ::access("/run/systemd/system", F_OK) == 0;
    std::string text = "is capsuled running? Start it with `";
    if (systemd && ::access("/lib/systemd/system/capsuled.service", F_OK) == 0) {
        text += "sudo systemctl start capsuled";
    } else {
        text += "sudo " + (program.empty() ? std::string("capsuled") : program);
    }
    return text + "`, or say in MAITENTO_URL where it listens\n";
}

}  // namespace

int exit_code_of(const protocol::Failure& failure) {
    if (failure.code() == sdk::unreachable_code) return exit_unreachable;
    if (failure.kind() == Kind::invalid_argument) return exit_usage;
    if (failure.kind() == Kind::not_found) return exit_not_found;
    return exit_negative;
}

std::string describe_failure(const protocol::Failure& failure, const Environment& environment) {
    std::string text = "mt: " + failure.describe() + "\n";
    if (const std::string more = advice(failure, environment); !more.empty()) text += "mt: " + more;
    return text;
}

void report(const protocol::Failure& failure, const Environment& environment) {
    write_all(STDERR_FILENO,
              presentable(describe_failure(failure, environment), is_terminal(STDERR_FILENO)));
}

}  // namespace mt
