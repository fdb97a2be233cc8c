#pragma once
// Config: what the operator has chosen, from the command line and the configuration file (`name =
// value` lines, names as on the command line without the dashes), checked. The command line wins.
// Defaults come from host/model/defaults.hpp; docs/defaults.md lists them. Pure but for reading
// that file.

#include "protocol/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace host::config {

enum class Accelerator : std::uint8_t { automatic, kvm, tcg };

struct Config {
    Config();
    std::string state = "/var/lib/capsuled";
    std::string runtime = "/run/capsuled";
    std::string images;  // <state>/images where it was not given
    std::string image;   // of who asks for none; "" = "full", or "base" while there is no "full"
    std::string key = "/etc/capsuled/secret.key";
    std::string socket_group = "capsuled";
    std::string listen;  // "" = Unix socket only
    std::string libvirt_uri = "qemu:///system";
    Accelerator accelerator = Accelerator::automatic;
    std::uint32_t kvm_patience_seconds = 8;
    std::string log_level = "info";

    // ---- limits ----
    std::uint64_t memory_bytes;  // of a run whose recipe says nothing
    std::uint32_t cpus;
    std::uint32_t live_runs;  // 0: as many as memory allows
    std::uint32_t child_runs;
    std::uint64_t memory_reserve_bytes, disk_reserve_bytes;
    std::uint64_t stored_output_bytes;
    std::int64_t retention_hours;
    std::uint32_t uid_first, uid_count;

    // ---- egress ----
    std::string egress_program;              // "" = beside capsuled, then /usr/lib/capsule-host
    std::vector<std::string> egress_ranges;  // reachable although not public
    std::vector<std::string> package_sources;

    std::string database() const { return state + "/state.db"; }
    std::string vfs() const { return state + "/vfs"; }
    std::string socket() const { return runtime + "/api.sock"; }
};

// What `capsuled` was called for.
struct Invocation {
    Invocation() = default;
    enum class What : std::uint8_t { serve, version, help, doctor } what{};
    bool json = false;     // of doctor
    bool no_boot = false;  // of doctor: boot no machine
    Config config;
};

// invalid_argument names the option and what it takes. A configuration file that does not exist is
// an empty one; one that exists and cannot be read is an error.
protocol::Result<Invocation> parse(const std::vector<std::string>& arguments);
std::string help();

// An option of the configuration file as text: what its template and the manual are made from.
struct OptionText {
    std::string name, value, help;
    std::string standard;  // "" = nothing, or what `help` says
};
std::vector<OptionText> option_texts();

}  // namespace host::config
