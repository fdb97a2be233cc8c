#include "host/machine/kvm_probe.hpp"

#include "host/libvirt/firmware.hpp"
#include "host/storage/program.hpp"
#include "protocol/base/name.hpp"

#include <fmt/format.h>

namespace host::machine {
namespace {

// What the agent prints when the kernel's command line has `capsule.probe`.
constexpr std::string_view answer = "capsule-probe-ok";

storage::ProgramRequest probe_request(const std::string& kernel, const std::string& initrd) {
    storage::ProgramRequest request;
    request.arguments = {
        "qemu-system-x86_64", "-no-user-config", "-nodefaults", "-display", "none",
        // The machine type, processor and firmware of a run; nothing else of it matters.
        "-machine", "q35,accel=kvm", "-cpu", "host", "-m", "256", "-no-reboot", "-sandbox",
        "on,spawn=deny", "-serial", "stdio", "-kernel", kernel, "-initrd", initrd, "-append",
        "console=ttyS0 quiet panic=-1 capsule.probe"};
    if (const std::string firmware = libvirt::boot_firmware(); !firmware.empty()) {
        request.arguments.insert(request.arguments.end(), {"-bios", firmware});
    }
    request.enough = [](std::string_view output) { return output.find(answer) != output.npos; };
    return request;
}

// Why QEMU gave up, as it says first.
std::string first_line(std::string_view output) {
    const std::string_view line = output.substr(0, output.find_first_of("\r\n"));
    return line.empty() ? "QEMU ended without a word" : protocol::escape_foreign(line, 200);
}

double seconds(std::chrono::steady_clock::duration duration) {
    return std::chrono::duration<double>(duration).count();
}

}  // namespace

KvmProbe probe_kvm(const std::string& kernel, const std::string& initrd,
                   std::chrono::milliseconds deadline) {
    auto request = probe_request(kernel, initrd);
    request.limit = deadline;
    const auto start = std::chrono::steady_clock::now();
    const auto outcome = storage::run_program(request);
    KvmProbe probe;
    if (!outcome) {
        probe.finding =
            fmt::format("a guest did not boot under it ({})", outcome.error().describe());
        return probe;
    }
    using End = storage::ProgramOutcome::End;
    switch (outcome->end) {
        case End::enough:
            probe.works = true;
            probe.finding = fmt::format("a probe guest booted under KVM in {:.1f} s",
                                        seconds(std::chrono::steady_clock::now() - start));
            break;
        case End::timed_out:
            probe.finding =
                fmt::format("a guest did not boot under it within {:.0f} s", seconds(deadline));
            break;
        case End::exited:
        case End::killed_by_signal:
            probe.finding =
                fmt::format("a guest did not boot under it ({})", first_line(outcome->output));
            break;
    }
    return probe;
}

}  // namespace host::machine
