#include "host/libvirt/domain_xml.hpp"

#include "host/libvirt/xml_writer.hpp"
#include "host/model/defaults.hpp"
#include "protocol/wire/limits.hpp"

#include <fmt/format.h>

namespace host::libvirt {
namespace {

using sandbox::Accelerator;
using sandbox::MachineSpec;
using sandbox::Transport;

// Slots of the root bus. libvirt would put each virtio device behind a root port of its own, and
// every port costs the guest kernel time at boot. Slot 0 is the host bridge, 31 the LPC bridge.
enum class Slot : std::uint8_t { link = 1, disk = 2, random = 3, first_folder = 4, last = 30 };
constexpr std::size_t folders_max =
    static_cast<std::size_t>(Slot::last) - static_cast<std::size_t>(Slot::first_folder) + 1;

void pci_address(XmlWriter& xml, std::size_t slot) {
    xml.empty("address", {{"type", "pci"},
                          {"domain", "0x0000"},
                          {"bus", "0x00"},
                          {"slot", fmt::format("{:#04x}", slot)},
                          {"function", "0x0"}});
}
void pci_address(XmlWriter& xml, Slot slot) {
    pci_address(xml, static_cast<std::size_t>(slot));
}

void metadata(XmlWriter& xml, const MachineSpec& spec,
              const protocol::InstallationId& installation) {
    xml.element("metadata", {}, [&] {
        xml.empty("capsule:run", {{"xmlns:capsule", metadata_uri},
                                  {"id", spec.run.str()},
                                  {"installation", installation.str()}});
    });
}

void boot(XmlWriter& xml, const MachineSpec& spec, const HostTraits& host) {
    xml.element("os", {}, [&] {
        xml.text("type", {{"arch", "x86_64"}, {"machine", "q35"}}, "hvm");
        if (!host.firmware.empty()) xml.text("loader", {{"type", "rom"}}, host.firmware);
        xml.text("kernel", {}, spec.kernel.value);
        xml.text("initrd", {}, spec.initrd.value);
        xml.text("cmdline", {}, spec.kernel_command_line);
    });
}

void processor_and_clock(XmlWriter& xml, const MachineSpec& spec) {
    const bool kvm = spec.accelerator == Accelerator::kvm;
    xml.element("features", {}, [&] {
        xml.empty("acpi", {});
        xml.empty("apic", {});
        xml.empty("vmport", {{"state", "off"}});
        // QEMU's own default is a gigabyte beside the machine's memory.
        if (!kvm) {
            xml.element("tcg", {}, [&] {
                xml.text("tb-cache", {{"unit", "b"}},
                         std::to_string(model::defaults::translation_cache_bytes));
            });
        }
    });
    // Under TCG: QEMU's plain model, and what makes it x86-64-v2 (the psABI's level that wheels of
    // Python packages are built for). `max` would be slower: emulated AVX is no gain.
    if (kvm) {
        xml.empty("cpu", {{"mode", "host-passthrough"}, {"migratable", "on"}});
    } else {
        xml.element("cpu", {{"mode", "custom"}, {"match", "exact"}, {"check", "none"}}, [&] {
            xml.text("model", {}, "qemu64");
            for (const char* feature : {"popcnt", "ssse3", "sse4.1", "sse4.2"}) {
                xml.empty("feature", {{"policy", "require"}, {"name", feature}});
            }
        });
    }
    xml.element("clock", {{"offset", "utc"}}, [&] {
        xml.empty("timer", {{"name", "pit"}, {"tickpolicy", "delay"}});
        xml.empty("timer", {{"name", "rtc"}, {"tickpolicy", "catchup"}});
        // Emulated in software, every read of it is slow, and the guest has better clocks.
        xml.empty("timer", {{"name", "hpet"}, {"present", "no"}});
    });
}

void disk(XmlWriter& xml, const MachineSpec& spec) {
    xml.element("disk", {{"type", "file"}, {"device", "disk"}}, [&] {
        // cache=unsafe would lose nothing that outlives the run, but it also ignores the guest's
        // flushes and so hides a full host disk until too late; writeback costs no measurable time
        // at boot. error_policy=stop: a full host disk pauses the machine and raises an event that
        // ends the run.
        xml.empty("driver", {{"name", "qemu"},
                             {"type", "qcow2"},
                             {"cache", "writeback"},
                             {"error_policy", "stop"},
                             {"rerror_policy", "report"},
                             {"discard", "unmap"}});
        xml.empty("source", {{"file", spec.overlay.value}});
        xml.empty("target", {{"dev", "vda"}, {"bus", "virtio"}});
        pci_address(xml, Slot::disk);
    });
}

void shared_folders(XmlWriter& xml, const MachineSpec& spec) {
    std::size_t slot = static_cast<std::size_t>(Slot::first_folder);
    for (const auto& folder : spec.folders) {
        xml.element("filesystem", {{"type", "mount"}, {"accessmode", "passthrough"}}, [&] {
            xml.empty("driver", {{"type", "virtiofs"}, {"queue", "1024"}});
            xml.empty("source", {{"dir", folder.source.value}});
            xml.empty("target", {{"dir", folder.tag}});
            pci_address(xml, slot++);
        });
    }
}

void link(XmlWriter& xml, const MachineSpec& spec) {
    if (spec.transport == Transport::vsock) {
        xml.element("vsock", {{"model", "virtio"}}, [&] {
            xml.empty("cid", {{"auto", "yes"}});
            pci_address(xml, Slot::link);
        });
        return;
    }
    // An interrupt for each of the six queues and one for the device: with fewer, each one makes
    // the guest look through all queues.
    xml.element("controller",
                {{"type", "virtio-serial"}, {"index", "0"}, {"ports", "2"}, {"vectors", "7"}},
                [&] { pci_address(xml, Slot::link); });
    xml.element("channel", {{"type", "unix"}}, [&] {
        xml.empty("source", {{"mode", "bind"}, {"path", spec.serial_socket.value}});
        xml.empty("target", {{"type", "virtio"}, {"name", protocol::limits::serial_port_name}});
        xml.empty("address",
                  {{"type", "virtio-serial"}, {"controller", "0"}, {"bus", "0"}, {"port", "1"}});
    });
}

void devices(XmlWriter& xml, const MachineSpec& spec) {
    xml.element("devices", {}, [&] {
        xml.empty("controller", {{"type", "usb"}, {"index", "0"}, {"model", "none"}});
        xml.empty("controller", {{"type", "pci"}, {"index", "0"}, {"model", "pcie-root"}});
        disk(xml, spec);
        shared_folders(xml, spec);
        link(xml, spec);
        xml.element("serial", {{"type", "file"}}, [&] {
            // virtlogd holds the file and bounds it.
            xml.empty("source", {{"path", spec.console_log.value}, {"append", "on"}});
            xml.element("target", {{"type", "isa-serial"}, {"port", "0"}}, [&] {
                xml.empty("model", {{"name", "isa-serial"}});
            });
        });
        xml.element("rng", {{"model", "virtio"}}, [&] {
            xml.text("backend", {{"model", "random"}}, "/dev/urandom");
            pci_address(xml, Slot::random);
        });
        xml.empty("memballoon", {{"model", "none"}});
        // A panic of the guest kernel becomes an event of its own instead of a reset.
        xml.element("panic", {{"model", "isa"}}, [&] {
            xml.empty("address", {{"type", "isa"}, {"iobase", "0x505"}});
        });
    });
}

// A uid of the run's own: an escaped QEMU can reach its own overlay and nothing else. Relabelling
// off: libvirt would otherwise give base image, kernel and initrd to that uid, and not take the
// base back.
void security_label(XmlWriter& xml, const MachineSpec& spec, const HostTraits& host) {
    xml.element("seclabel", {{"type", "static"}, {"model", "dac"}, {"relabel", "no"}},
                [&] { xml.text("label", {}, fmt::format("+{}:+{}", spec.uid, host.qemu_group)); });
}

// Half of the time that libvirt needs to start a machine goes into reading 400 properties of its
// processor, one by one, through a monitor that takes its requests byte by byte. Without this
// capability it reads two words of flags instead, which serves a machine that is never migrated
// just as well.
void quick_start(XmlWriter& xml) {
    xml.element("qemu:capabilities", {{"xmlns:qemu", "http://libvirt.org/schemas/domain/qemu/1.0"}},
                [&] {
                    xml.empty("qemu:del", {{"capability", "cpu-unavailable-features"}});
                });
}

}  // namespace

std::string domain_name(const protocol::RunId& run) {
    return name_prefix + run.str();
}

protocol::Result<std::string> domain_xml(const MachineSpec& spec,
                                         const protocol::InstallationId& installation,
                                         const HostTraits& host) {
    if (spec.folders.size() > folders_max) {
        return protocol::fail(protocol::Kind::resource_exhausted,
                              fmt::format("a machine has room for {} shared folders", folders_max));
    }
    const bool kvm = spec.accelerator == Accelerator::kvm;
    XmlWriter xml;
    xml.element("domain", {{"type", kvm ? "kvm" : "qemu"}}, [&] {
        xml.text("name", {}, domain_name(spec.run));
        xml.text("uuid", {}, spec.run.str());
        metadata(xml, spec, installation);
        xml.text("memory", {{"unit", "b"}}, fmt::format("{}", spec.memory_bytes));
        // virtiofsd maps the guest's memory.
        xml.element("memoryBacking", {}, [&] {
            xml.empty("source", {{"type", "memfd"}});
            xml.empty("access", {{"mode", "shared"}});
        });
        xml.text("vcpu", {{"placement", "static"}}, fmt::format("{}", spec.cpus));
        boot(xml, spec, host);
        processor_and_clock(xml, spec);
        xml.text("on_poweroff", {}, "destroy");
        xml.text("on_reboot", {}, "destroy");
        xml.text("on_crash", {}, "destroy");
        devices(xml, spec);
        security_label(xml, spec, host);
        quick_start(xml);
    });
    std::string text = std::move(xml).finish();
    if (text.empty()) {
        return protocol::fail(protocol::Kind::internal,
                              "a path or word of the machine cannot be written as XML");
    }
    return text;
}

}  // namespace host::libvirt
