// capsuled: the daemon, and `capsuled doctor`. Exit codes: 0 done, 1 it cannot serve or the doctor
// found a failure, 2 wrong options.

#include "host/config/config.hpp"
#include "host/daemon.hpp"
#include "host/egress_wiring.hpp"
#include "host/machine/capabilities.hpp"

#include <algorithm>
#include <iostream>
#include <malloc.h>
#include <sched.h>
#include <string>
#include <vector>

#include <boost/json/serialize.hpp>

namespace {

using host::config::Invocation;
using host::machine::Check;

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

const char* mark(Check::Verdict verdict) {
    switch (verdict) {
        case Check::Verdict::ok:
            return "ok      ";
        case Check::Verdict::warning:
            return "warning ";
        case Check::Verdict::failed:
            return "FAILED  ";
    }
    return "";
}

int doctor(const Invocation& invocation) {
    host::machine::DoctorOptions options;
    options.images = invocation.config.images;
    options.image = invocation.config.image;
    options.state = invocation.config.state;
    options.egress_program = host::egress_program(invocation.config);
    options.kvm_patience = std::chrono::seconds(invocation.config.kvm_patience_seconds);
    options.boot_capsule = !invocation.no_boot;
    const bool json = invocation.json;
    const auto checks = host::machine::run_doctor(options, [json](const std::string& name) {
        if (!json) std::cerr << "checking " << name << "...\n";
    });
    if (json) {
        std::cout << boost::json::serialize(host::machine::to_json(checks)) << '\n';
    } else {
        for (const Check& check : checks) {
            std::cout << mark(check.verdict) << check.name << ": " << check.detail << '\n';
            if (!check.fix.empty()) std::cout << "        -> " << check.fix << '\n';
        }
    }
    const bool failed = std::ranges::any_of(
        checks, [](const Check& check) { return check.verdict == Check::Verdict::failed; });
    return failed ? exit_failed : 0;
}

int serve(const Invocation& invocation) {
    // One heap: the loop thread allocates nearly everything, and a heap for each of the others
    // would keep what it once needed.
    mallopt(M_ARENA_MAX, 1);
    // SCHED_BATCH: awake, the daemon waits until the running program sleeps or has had its slice.
    // QEMU hands over what a guest prints page by page, under the lock that its emulated processors
    // need, and would be interrupted at each page otherwise.
    const struct sched_param standard {};
    ::sched_setscheduler(0, SCHED_BATCH, &standard);
    auto served = host::serve(invocation.config);
    if (served) return 0;
    std::cerr << "capsuled: " << served.error().describe() << '\n';
    return exit_failed;
}

}  // namespace

int main(int count, char** words) {
    auto invocation = host::config::parse(std::vector<std::string>(words + 1, words + count));
    if (!invocation) {
        std::cerr << "capsuled: " << invocation.error().describe() << "\nTry capsuled --help\n";
        return exit_usage;
    }
    switch (invocation->what) {
        case Invocation::What::version:
            std::cout << "capsuled " << CAPSULE_VERSION << '\n';
            return 0;
        case Invocation::What::help:
            std::cout << host::config::help();
            return 0;
        case Invocation::What::doctor:
            return doctor(*invocation);
        case Invocation::What::serve:
            return serve(*invocation);
    }
    return exit_usage;
}
