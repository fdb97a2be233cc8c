#pragma once
// FakeHypervisor, FakeDisks: machines and folders as entries of maps. They live longer than a
// daemon, as the real ones do.

#include "host/sandbox/disks.hpp"
#include "host/sandbox/hypervisor.hpp"
#include "support/faults.hpp"

#include <map>
#include <set>

namespace host::sandbox {

class FakeHypervisor final : public Hypervisor {
  public:
    explicit FakeHypervisor(Faults& faults) : faults_(faults) {}

    Result<Machine> start(const MachineSpec& spec) override {
        TRY_VOID(faults_.step("start"));
        if (away) return protocol::fail(protocol::Kind::unavailable, "libvirt is away");
        if (machines.contains(spec.run)) {
            return protocol::fail(protocol::Kind::conflict, "the domain exists");
        }
        Machine machine(spec.run);
        machine.active = true;
        machine.cid = 7;
        for (std::size_t i = 0; i < spec.folders.size(); ++i) {
            machine.virtiofsd.emplace_back(next_pid++, i);
        }
        specs.push_back(spec);
        return machines.emplace(spec.run, machine).first->second;
    }
    Result<void> destroy(const RunId& run) override {
        if (away) return protocol::fail(protocol::Kind::unavailable, "libvirt is away");
        ++destroyed;
        machines.erase(run);
        return {};
    }
    Result<std::vector<Machine>> list() override {
        if (away) return protocol::fail(protocol::Kind::unavailable, "libvirt is away");
        std::vector<Machine> all;
        for (const auto& [id, machine] : machines) all.push_back(machine);
        return all;
    }
    void observe(std::function<void(MachineEvent)>) override {}
    void on_pause(std::function<void(RunId, bool)>) override {}
    void on_reconnect(std::function<void()>) override {}

    std::map<RunId, Machine> machines;
    std::vector<MachineSpec> specs;
    bool away = false;
    int destroyed = 0;
    pid_t next_pid = 100;

  private:
    Faults& faults_;
};

class FakeDisks final : public Disks {
  public:
    explicit FakeDisks(Faults& faults) : faults_(faults) {}

    Result<BootImage> image(const std::string& name) override {
        if (!has_image) return protocol::fail(protocol::Kind::not_found, "no image");
        TRY(const ImageInfo info, describe_image(name));
        BootImage image;
        image.name = info.name;
        image.version = info.version;
        image.disk_bytes = 4ull << 30;
        return image;
    }
    Result<void> verify(const BootImage& image) override {
        verified.push_back(image.version);
        if (damaged.contains(image.version)) {
            return protocol::fail(protocol::Kind::io, image.version + " is damaged");
        }
        return {};
    }
    Result<std::vector<ImageInfo>> images() override { return store; }
    Result<ImageInfo> describe_image(const std::string& name) override {
        const std::string wanted = name.empty() ? "base" : name;
        for (const ImageInfo& info : store) {
            if (info.version == wanted || (info.current && info.name == wanted)) return info;
        }
        return protocol::fail(protocol::Kind::not_found, "there is no image " + wanted);
    }
    Result<void> remove_image(const std::string& version) override {
        std::erase_if(store, [&](const ImageInfo& info) { return info.version == version; });
        return {};
    }
    RunFolder layout(const RunId& run) const override {
        RunFolder layout;
        layout.folder = HostPath("/nowhere/" + run.str());
        layout.serial_socket = HostPath("/nowhere/" + run.str() + "/agent.sock");
        layout.console_log =
            HostPath(console_log.empty() ? "/nowhere/" + run.str() + "/console.log" : console_log);
        return layout;
    }
    Result<void> create(const RunId& run, const BootImage&, std::uint64_t disk_bytes,
                        uid_t uid) override {
        // What fails half-way leaves something.
        folders.insert(run);
        TRY_VOID(faults_.step("create"));
        last_disk_bytes = disk_bytes;
        uids.insert(uid);
        return {};
    }
    Result<HostPath> prepare_vfs(const RunId& run, const std::string& folder,
                                 const std::string& tag, bool read_only) override {
        TRY_VOID(faults_.step("prepare_vfs"));
        static_cast<void>(run);
        return HostPath("/vfs/" + folder + "/" + tag + (read_only ? "/ro" : ""));
    }
    Result<void> remove(const RunId& run) override {
        folders.erase(run);
        return {};
    }
    Result<std::vector<RunId>> list() override {
        return std::vector<RunId>(folders.begin(), folders.end());
    }
    Result<std::uint64_t> free_bytes() override { return free; }

    std::set<RunId> folders;
    std::set<uid_t> uids;
    std::uint64_t free = 100ull << 30;
    std::uint64_t last_disk_bytes = 0;
    bool has_image = true;
    std::string console_log;  // a real file, for tests in which the console is looked at
    std::vector<ImageInfo> store{stored("base", "base-000000000001", true),
                                 stored("full", "full-000000000001", true),
                                 stored("full", "full-000000000002", false)};
    std::set<std::string> damaged;
    std::vector<std::string> verified;

  private:
    static ImageInfo stored(const char* name, const char* version, bool current) {
        ImageInfo info;
        info.name = name;
        info.version = version;
        info.current = current;
        return info;
    }
    Faults& faults_;
};

}  // namespace host::sandbox
