// capsule-agent: /init of the initial RAM file system, then process 1 of a capsule. Reading main()
// shows the whole program: prepare, answer the host, complete the machine, serve.

#include "guest-agent/boot/boot_options.hpp"
#include "guest-agent/boot/early.hpp"
#include "guest-agent/boot/linux_machine.hpp"
#include "guest-agent/boot/root_disk.hpp"
#include "guest-agent/process/cgroup.hpp"
#include "guest-agent/process/memory_pressure.hpp"
#include "guest-agent/process/reaper.hpp"
#include "guest-agent/service/service.hpp"
#include "guest-agent/system/console.hpp"
#include "guest-agent/system/small_file.hpp"
#include "guest-agent/transport/link_server.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/limits.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

namespace guest_agent {
namespace {

using protocol::Result;

constexpr char new_root[] = "/root-disk";

std::string hello() {
    protocol::Hello hello;
    hello.software = "capsule-agent " CAPSULE_VERSION;
    hello.boot_id = protocol::BootId::random().str();
    hello.limits.control_payload_bytes = protocol::limits::control_payload_bytes;
    hello.limits.data_payload_bytes = protocol::limits::data_payload_bytes;
    hello.limits.window_bytes = protocol::limits::window_bytes;
    hello.limits.follow_window_bytes = protocol::limits::follow_window_bytes;
    return boost::json::serialize(protocol::to_json(hello));
}

// The host looks for exactly this line when it tries an accelerator out.
void answer_probe() {
    const int console = ::open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (console >= 0) ::dprintf(console, "capsule-probe-ok\n");
    power_off_now();
}

Result<void> serve(LinkServer& server, const BootOptions& options) {
    const bool vsock = options.transport ? *options.transport == TransportChoice::vsock
                                         : ::access("/dev/vsock", F_OK) == 0;
    auto served = vsock ? server.serve_vsock() : server.serve_serial();
    if (served || options.transport) return served;
    // A vsock driver without a device has a node all the same.
    return vsock ? server.serve_serial() : server.serve_vsock();
}

// Without a way to the host, or without a disk, nothing can be run: the console says why, and the
// end of the machine tells the host to look there.
[[noreturn]] void give_up(const protocol::Failure& failure) {
    say("cannot start: " + failure.describe());
    power_off_now();
    ::_exit(1);
}

void answer_power_signals(boost::asio::signal_set& signals, Service& service) {
    signals.async_wait([&](const boost::system::error_code& error, int number) {
        if (error) return;
        service.power(number == SIGUSR2 ? "poweroff" : number == SIGUSR1 ? "halt" : "reboot");
        answer_power_signals(signals, service);
    });
}

Result<void> run() {
    TRY_VOID(prepare_process_one());
    const auto options = parse_boot_options(read_small_file("/proc/cmdline").value_or(""));
    if (options.probe) answer_probe();
    const bool serial = options.transport == TransportChoice::serial;
    load_modules("/modules", serial ? VsockModules::skip : VsockModules::load);

    boost::asio::io_context loop(1);
    Reaper reaper(loop.get_executor());
    reaper.start();
    TRY(const auto groups, open_cgroups("/sys/fs/cgroup"));
    MemoryPressure pressure(loop.get_executor(), [&groups] { groups->relieve_memory(); });
    if (const auto watched = pressure.watch("/sys/fs/cgroup/commands/memory.pressure"); !watched) {
        say(watched.error().describe());  // the kernel's own OOM killer is still there
    }
    CommandContext context{loop.get_executor(), reaper, *groups};
    LinuxMachine machine(loop.get_executor(), reaper);
    Service service(context, machine, ServicePaths());
    boost::asio::signal_set power_signals(loop, SIGUSR1, SIGUSR2, SIGTERM);
    power_signals.add(SIGINT);
    answer_power_signals(power_signals, service);

    // The host's hello is answered now; what it asks for waits until the disk is there.
    LinkServer server(loop.get_executor(), service, hello());
    TRY_VOID(serve(server, options));
    loop.poll();

    TRY_VOID(mount_root_disk(new_root));
    TRY_VOID(complete_root(new_root));
    TRY_VOID(switch_root(new_root));
    bring_loopback_up();
    grow_root();
    service.machine_ready();
    loop.run();
    return {};
}

}  // namespace
}  // namespace guest_agent

int main(int count, char** words) {
    if (count == 2 && std::string_view(words[1]) == "--version") {
        std::puts("capsule-agent " CAPSULE_VERSION);
        return 0;
    }
    if (::getpid() != 1) {
        std::fputs("capsule-agent: only as process 1 of a capsule\n", stderr);
        return 2;
    }
    // Without the catch-all an exception would be a kernel panic that does not say what it was.
    try {
        const auto result = guest_agent::run();
        if (!result) guest_agent::give_up(result.error());
        guest_agent::give_up(protocol::Failure(protocol::Kind::internal, "the loop has ended"));
    } catch (const std::exception& error) {
        guest_agent::give_up(protocol::Failure(protocol::Kind::internal, error.what()));
    }
}
