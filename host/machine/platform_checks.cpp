#include "host/libvirt/connection.hpp"
#include "host/machine/checks.hpp"
#include "host/machine/vsock_listeners.hpp"
#include "host/storage/image_catalogue.hpp"
#include "protocol/wire/json_codec.hpp"

#include <filesystem>
#include <fstream>
#include <glob.h>
#include <iterator>
#include <linux/vm_sockets.h>
#include <sstream>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace host::machine {
namespace {

constexpr char libvirt_uri[] = "qemu:///system";

// Inodes of a VFS that a guest can have in use; each is a descriptor in virtiofsd.
constexpr std::uint64_t enough_open_files = 100'000;

std::string read_text(const std::string& file) {
    std::ifstream input(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
}

// The program that libvirt will start: named by QEMU's vhost-user descriptions, the first in order
// wins.
std::string virtiofsd_program() {
    std::string program;
    glob_t found{};
    if (glob("/usr/share/qemu/vhost-user/*.json", 0, nullptr, &found) == 0) {
        for (std::size_t i = 0; i < found.gl_pathc && program.empty(); ++i) {
            const auto value = protocol::parse_json(read_text(found.gl_pathv[i]));
            if (!value || !value->is_object()) continue;
            const auto* type = value->get_object().if_contains("type");
            const auto* binary = value->get_object().if_contains("binary");
            if (type != nullptr && binary != nullptr && type->is_string() && binary->is_string() &&
                type->get_string() == "fs") {
                program = binary->get_string();
            }
        }
    }
    globfree(&found);
    return program;
}

// The limit that virtiofsd will inherit: that of libvirt's daemon.
std::uint64_t open_files_limit() {
    std::string pid = "self";
    for (const auto* file : {"/run/libvirtd.pid", "/run/virtqemud.pid"}) {
        std::ifstream input(file);
        if (input >> pid) break;
    }
    std::istringstream lines(read_text("/proc/" + pid + "/limits"));
    for (std::string line; std::getline(lines, line);) {
        std::string max, open, files, soft;
        std::istringstream fields(line);
        std::uint64_t hard = 0;
        if (fields >> max >> open >> files >> soft >> hard && open == "open" && files == "files")
            return hard;
    }
    return 0;
}

}  // namespace

Check check_kvm(const std::string& images, std::chrono::seconds patience,
                AcceleratorReport& report) {
    ProbeInputs inputs;
    inputs.deadline = patience;
    inputs.kernel = images + "/kernel/vmlinux";
    inputs.initrd = images + "/initrd/initrd.cpio";
    const auto chosen = choose_accelerator(AcceleratorChoice::automatic, inputs);
    if (!chosen) {
        return failed("kvm", chosen.error().describe(), "this should not happen: report it");
    }
    report = *chosen;
    if (report.accelerator == sandbox::Accelerator::kvm) return passed("kvm", report.reason);
    return warned(
        "kvm", report.reason,
        "use a host whose KVM boots a Linux guest: bare metal, or an instance with nested "
        "virtualization; `modprobe kvm_intel` or `modprobe kvm_amd` if the module is not "
        "loaded");
}

Check check_accelerator(const AcceleratorReport& report) {
    if (report.accelerator == sandbox::Accelerator::kvm) return passed("accelerator", "KVM");
    return warned("accelerator",
                  "software emulation (TCG): capsules run, but several times slower, with one "
                  "processor each",
                  "see kvm");
}

Check check_transport(const TransportReport& report) {
    if (report.transport == sandbox::Transport::vsock) {
        return passed("transport", "vsock: " + report.reason);
    }
    return warned("transport", "virtio-serial: " + report.reason,
                  "nothing is lost but some speed; `modprobe vhost_vsock` gives vsock where the "
                  "host's kernel "
                  "has it");
}

Check check_vsock_neighbours(const TransportReport& report) {
    constexpr char name[] = "vsock neighbours";
    if (report.transport != sandbox::Transport::vsock) {
        return passed(name, "capsules have no vsock on this host");
    }
    const auto listeners = vsock_listeners();
    if (!listeners) {
        return warned(name, "not checked: the kernel does not tell who listens on vsock",
                      "`modprobe vsock_diag`, then run this again");
    }
    std::vector<std::uint32_t> ports;
    for (const auto& listener : *listeners) {
        if (listener.cid == VMADDR_CID_ANY || listener.cid == VMADDR_CID_HOST)
            ports.push_back(listener.port);
    }
    if (ports.empty()) return passed(name, "nothing on this host listens on vsock");
    return warned(
        name,
        fmt::format("code in capsules can reach what listens on this host's vsock ports {}",
                    fmt::join(ports, ", ")),
        "stop what need not listen there (`ss --vsock -l` names it; systemd's ssh: `systemctl mask "
        "--now sshd-vsock.socket`)");
}

Check check_libvirt() {
    const auto found = libvirt::versions(libvirt_uri);
    if (!found) {
        return failed("libvirt", found.error().describe(),
                      "apt-get install libvirt-daemon-system qemu-system-x86, then `systemctl "
                      "start libvirtd`; "
                      "without systemd `virtlogd -d; libvirtd -d`");
    }
    return passed("libvirt", fmt::format("libvirt {}, QEMU {}", found->libvirt, found->qemu));
}

Check check_apparmor() {
    const auto used = libvirt::confines_with_apparmor(libvirt_uri);
    if (used && *used)
        return passed("apparmor", "on: libvirt confines each QEMU by a profile of its own");
    constexpr char instead[] = "QEMU is confined by a user of its own and seccomp, not by AppArmor";
    if (!used) {
        return warned("apparmor", "libvirt cannot be asked: " + used.error().describe(),
                      "see libvirt");
    }
    if (read_text("/sys/module/apparmor/parameters/enabled").starts_with('Y')) {
        return warned("apparmor", fmt::format("libvirt does not use it: {}", instead),
                      "apt-get install apparmor, look for security_driver in "
                      "/etc/libvirt/qemu.conf, and restart libvirtd");
    }
    return warned(
        "apparmor", fmt::format("off in the kernel: {}", instead),
        "start the host's kernel with AppArmor (apparmor=1 security=apparmor) if it has it");
}

Check check_virtiofsd() {
    const std::string program = virtiofsd_program();
    if (program.empty() || access(program.c_str(), X_OK) != 0) {
        return failed("virtiofsd",
                      program.empty() ? "no virtiofsd is installed" : program + " is missing",
                      "apt-get install virtiofsd (Debian 13) or qemu-system-common (Debian 12)");
    }
    const std::uint64_t limit = open_files_limit();
    std::string detail =
        fmt::format("{}, at most {} files of a VFS in use at a time", program, limit);
    if (limit >= enough_open_files) return passed("virtiofsd", std::move(detail));
    return warned(
        "virtiofsd", std::move(detail),
        "raise libvirtd's limit of open files: LimitNOFILE= in a drop-in of libvirtd.service, or "
        "`ulimit -Hn` where it is started");
}

Check check_images(const std::string& images, const std::string& standard) {
    const storage::ImageCatalogue catalogue(images, standard);
    const auto image = catalogue.find("");
    if (!image) {
        return failed(
            "images", image.error().describe(),
            "`mt image build all` makes kernel, initrd and the small image, `mt image build "
            "full` the one with all tools");
    }
    std::string detail =
        fmt::format("{} with {} and {}", image->version,
                    std::filesystem::path(image->kernel.value).parent_path().filename().native(),
                    std::filesystem::path(image->initrd.value).parent_path().filename().native());
    const auto described = catalogue.describe("");
    if (!described || described->missing.empty()) return passed("images", std::move(detail));
    for (const auto& gap : described->missing) {
        detail += fmt::format("; {} ({}) is missing in it: {}", gap.name, gap.what, gap.reason);
    }
    return warned("images", std::move(detail),
                  "capsules that do not need it are not concerned; else see images/README.md, then "
                  "`mt image build " +
                      image->name + "`");
}

}  // namespace host::machine
