// Which accelerator to use: tried, not believed.

#include "host/machine/capabilities.hpp"
#include "host/machine/kvm_probe.hpp"
#include "host/machine/probe_cache.hpp"
#include "protocol/base/unique_fd.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace host::machine {
namespace {

using protocol::Kind;
using sandbox::Accelerator;

constexpr char kvm_device[] = "/dev/kvm";

struct Finding {
    Finding() = default;
    bool works = false;
    bool from_cache = false;
    std::string text;
};

Finding without_kvm(std::string text) {
    Finding finding;
    finding.text = std::move(text);
    return finding;
}

Finding look_at_kvm(const ProbeInputs& inputs) {
    const protocol::UniqueFd opened(open(kvm_device, O_RDWR | O_CLOEXEC));
    if (!opened && errno == ENOENT) return without_kvm("/dev/kvm does not exist");
    if (!opened) {
        return without_kvm(fmt::format("/dev/kvm cannot be opened ({})", std::strerror(errno)));
    }
    for (const auto& file : {inputs.kernel, inputs.initrd}) {
        if (access(file.c_str(), R_OK) != 0) {
            return without_kvm("/dev/kvm exists but cannot be tried out: " +
                               (file.empty() ? "there is no image yet" : file + " is missing"));
        }
    }
    const ProbeCache cache(inputs.cache_file, inputs.kernel, inputs.initrd);
    Finding finding;
    auto probe = cache.read();
    finding.from_cache = probe.has_value();
    if (!probe) {
        probe = probe_kvm(inputs.kernel, inputs.initrd, inputs.deadline);
        cache.write(*probe);
    }
    finding.works = probe->works;
    finding.text = probe->works ? probe->finding : "/dev/kvm exists but " + probe->finding;
    return finding;
}

}  // namespace

sandbox::Result<AcceleratorReport> choose_accelerator(AcceleratorChoice choice,
                                                      const ProbeInputs& inputs) {
    AcceleratorReport report;
    report.accelerator = Accelerator::tcg;
    if (choice == AcceleratorChoice::tcg) {
        report.reason = "software emulation, as configured";
        return report;
    }
    const Finding finding = look_at_kvm(inputs);
    report.from_cache = finding.from_cache;
    if (finding.works) {
        report.accelerator = Accelerator::kvm;
        report.reason = finding.text;
    } else if (choice == AcceleratorChoice::kvm) {
        return protocol::fail(Kind::unavailable, "KVM was asked for: " + finding.text);
    } else {
        report.reason = finding.text + ": software emulation is used";
    }
    return report;
}

}  // namespace host::machine
