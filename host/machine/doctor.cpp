// `mt doctor`: all checks in an order that lets a reader mend the first failing one first.

#include "host/machine/checks.hpp"

#include <algorithm>

#include <boost/json/array.hpp>

namespace host::machine {
namespace {

Check make(std::string name, Check::Verdict verdict, std::string detail, std::string fix) {
    Check check;
    check.name = std::move(name);
    check.verdict = verdict;
    check.detail = std::move(detail);
    check.fix = std::move(fix);
    return check;
}

const char* word(Check::Verdict verdict) {
    switch (verdict) {
        case Check::Verdict::ok:
            return "ok";
        case Check::Verdict::warning:
            return "warning";
        case Check::Verdict::failed:
            return "failed";
    }
    return "failed";
}

}  // namespace

Check passed(std::string name, std::string detail) {
    return make(std::move(name), Check::Verdict::ok, std::move(detail), {});
}
Check warned(std::string name, std::string detail, std::string fix) {
    return make(std::move(name), Check::Verdict::warning, std::move(detail), std::move(fix));
}
Check failed(std::string name, std::string detail, std::string fix) {
    return make(std::move(name), Check::Verdict::failed, std::move(detail), std::move(fix));
}

std::vector<Check> run_doctor(const DoctorOptions& options,
                              const std::function<void(const std::string&)>& progress) {
    std::vector<Check> checks;
    const auto run = [&](const std::string& name, const std::function<Check()>& check) {
        if (progress) progress(name);
        checks.push_back(check());
    };
    AcceleratorReport accelerator;
    const TransportReport transport = choose_transport();
    run("processor", check_processor);
    run("disk", [&] { return check_disk(options.state); });
    run("images", [&] { return check_images(options.images, options.image); });
    run("libvirt", check_libvirt);
    run("virtiofsd", check_virtiofsd);
    run("network proxy", [&] { return check_egress(options.egress_program); });
    run("kvm", [&] { return check_kvm(options.images, options.kvm_patience, accelerator); });
    run("accelerator", [&] { return check_accelerator(accelerator); });
    run("memory", [&] { return check_memory(accelerator.accelerator); });
    run("transport", [&] { return check_transport(transport); });
    run("vsock neighbours", [&] { return check_vsock_neighbours(transport); });
    run("apparmor", check_apparmor);
    if (options.boot_capsule) {
        run("capsule", [&] { return check_capsule(options, accelerator, transport); });
    }
    return checks;
}

boost::json::object to_json(const std::vector<Check>& checks) {
    boost::json::array list;
    for (const auto& check : checks) {
        boost::json::object entry{
            {"name", check.name}, {"verdict", word(check.verdict)}, {"detail", check.detail}};
        if (!check.fix.empty()) entry["fix"] = check.fix;
        list.push_back(std::move(entry));
    }
    const bool usable = std::ranges::none_of(
        checks, [](const Check& check) { return check.verdict == Check::Verdict::failed; });
    return {{"usable", usable}, {"checks", std::move(list)}};
}

}  // namespace host::machine
