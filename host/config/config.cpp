#include "host/config/config.hpp"

#include "host/model/defaults.hpp"
#include "protocol/base/name.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>

#include <boost/program_options.hpp>

namespace host::config {

namespace options = boost::program_options;
namespace defaults = model::defaults;
using protocol::Kind;
using protocol::Result;

namespace {

constexpr char standard_file[] = "/etc/capsuled/capsuled.conf";
constexpr std::array levels = {"trace", "debug", "info", "warn", "error", "critical", "off"};
constexpr std::uint64_t mebibyte = 1ull << 20;

// As they are written; turned into a Config below.
struct Raw {
    std::string file = standard_file;
    std::string accelerator = "auto";
    std::uint64_t memory_mib, memory_reserve_mib, disk_reserve_mib, stored_output_mib;
};

template <typename T>
options::typed_value<T>* value_of(T& target, const char* name) {
    return options::value<T>(&target)->value_name(name)->default_value(target);
}

options::options_description settings(Config& config, Raw& raw) {
    options::options_description all(
        "Options (also `name = value` lines of the configuration file)");
    auto add = all.add_options();
    add("state", value_of(config.state, "DIR"), "state: database, file systems, runs");
    add("runtime", value_of(config.runtime, "DIR"), "socket and pid file");
    add("images", value_of(config.images, "DIR"), "kernel, initrd and base disks [STATE/images]");
    add("image", value_of(config.image, "NAME"),
        "of a capsule that names none, nor its namespace [full if it is built, else base]");
    add("key", value_of(config.key, "FILE"), "key that seals secrets; made on first start");
    add("listen", value_of(config.listen, "ADDR:PORT"), "serve the API on TCP too, with keys");
    add("socket-group", value_of(config.socket_group, "GROUP"), "may use the Unix socket");
    add("libvirt", value_of(config.libvirt_uri, "URI"), "connection to libvirt");
    add("accelerator", value_of(raw.accelerator, "auto|kvm|tcg"), "what machines run on");
    add("kvm-patience", value_of(config.kvm_patience_seconds, "SECONDS"),
        "how long the guest may take that tries KVM out");
    add("log-level", value_of(config.log_level, "LEVEL"), "trace, debug, info, warn, error");
    add("memory", value_of(raw.memory_mib, "MIB"), "of a run whose recipe does not say");
    add("cpus", value_of(config.cpus, "N"), "of a run whose recipe does not say; 1 under tcg");
    add("live-runs", value_of(config.live_runs, "N"), "at once; 0: as many as memory allows");
    add("child-runs", value_of(config.child_runs, "N"),
        "live runs started from inside one capsule");
    add("memory-reserve", value_of(raw.memory_reserve_mib, "MIB"), "stays with the host");
    add("disk-reserve", value_of(raw.disk_reserve_mib, "MIB"), "stays free on the host's disk");
    add("stored-output", value_of(raw.stored_output_mib, "MIB"), "outputs kept, all together");
    add("retention-hours", value_of(config.retention_hours, "N"), "ended runs are kept so long");
    add("uid-first", value_of(config.uid_first, "UID"), "first user id for QEMU processes");
    add("uid-count", value_of(config.uid_count, "N"), "how many of them");
    add("egress-program", value_of(config.egress_program, "FILE"), "path of capsule-egress");
    add("egress-allow", options::value(&config.egress_ranges)->value_name("CIDR")->composing(),
        "addresses capsules may reach although not public (repeatable)");
    add("package-source", options::value(&config.package_sources)->value_name("URL")->composing(),
        "further package archives capsules may read (repeatable)");
    return all;
}

options::options_description actions(Raw& raw) {
    options::options_description all("Command line only");
    auto add = all.add_options();
    add("config", value_of(raw.file, "FILE"), "configuration file");
    add("version", "print the version");
    add("help", "print this text");
    add("json", "doctor: as JSON");
    add("no-boot", "doctor: boot no machine");
    return all;
}

Raw standard_values(const Config& config) {
    Raw raw;
    raw.memory_mib = config.memory_bytes / mebibyte;
    raw.memory_reserve_mib = config.memory_reserve_bytes / mebibyte;
    raw.disk_reserve_mib = config.disk_reserve_bytes / mebibyte;
    raw.stored_output_mib = config.stored_output_bytes / mebibyte;
    return raw;
}

protocol::Failure wrong(const std::string& option, const std::string& text) {
    return protocol::Failure(Kind::invalid_argument, "--" + option + ": " + text);
}

Result<void> check_path(const std::string& option, const std::string& path) {
    if (path.starts_with('/') && path.find('\n') == std::string::npos) return {};
    return protocol::fail(wrong(option, "\"" + path + "\" is not an absolute path"));
}

Result<void> check_listen(const std::string& listen) {
    if (listen.empty()) return {};
    const std::size_t colon = listen.rfind(':');
    const std::string port = colon == std::string::npos ? "" : listen.substr(colon + 1);
    const bool digits = !port.empty() && port.size() <= 5 &&
                        port.find_first_not_of("0123456789") == std::string::npos;
    if (digits && colon > 0 && std::stoul(port) <= 65'535) return {};
    return protocol::fail(
        wrong("listen", "\"" + listen + "\" is not ADDRESS:PORT, such as 127.0.0.1:7070"));
}

Result<Accelerator> accelerator_of(const std::string& text) {
    if (text == "auto") return Accelerator::automatic;
    if (text == "kvm") return Accelerator::kvm;
    if (text == "tcg") return Accelerator::tcg;
    return protocol::fail(wrong("accelerator", "\"" + text + "\" is none of auto, kvm, tcg"));
}

Result<void> finish(Config& config, const Raw& raw) {
    if (config.images.empty()) config.images = config.state + "/images";
    TRY_VOID(check_path("state", config.state));
    TRY_VOID(check_path("runtime", config.runtime));
    TRY_VOID(check_path("images", config.images));
    if (!config.image.empty() && !protocol::is_valid_name(config.image)) {
        return protocol::fail(wrong("image", "\"" + config.image + "\" is no name of an image"));
    }
    TRY_VOID(check_path("key", config.key));
    if (!config.egress_program.empty()) {
        TRY_VOID(check_path("egress-program", config.egress_program));
    }
    TRY_VOID(check_listen(config.listen));
    TRY(config.accelerator, accelerator_of(raw.accelerator));
    if (std::ranges::find(levels, config.log_level) == levels.end()) {
        return protocol::fail(wrong("log-level", "\"" + config.log_level + "\" is no level"));
    }
    config.memory_bytes = raw.memory_mib * mebibyte;
    config.memory_reserve_bytes = raw.memory_reserve_mib * mebibyte;
    config.disk_reserve_bytes = raw.disk_reserve_mib * mebibyte;
    config.stored_output_bytes = raw.stored_output_mib * mebibyte;
    if (config.memory_bytes < defaults::memory_bytes_min) {
        return protocol::fail(
            wrong("memory", "at least " + std::to_string(defaults::memory_bytes_min / mebibyte)));
    }
    if (config.kvm_patience_seconds == 0)
        return protocol::fail(wrong("kvm-patience", "at least 1"));
    if (config.cpus == 0) return protocol::fail(wrong("cpus", "at least 1"));
    if (config.retention_hours < 0) return protocol::fail(wrong("retention-hours", "at least 0"));
    // 65,535 and 2^32 - 1 are nobody's; below 1,000 are the system's own.
    constexpr std::uint64_t uid_end = (1ull << 32) - 1;
    if (config.uid_first < 65'536 || config.uid_count == 0 ||
        std::uint64_t{config.uid_first} + config.uid_count > uid_end) {
        return protocol::fail(wrong("uid-first", "a range from 65536 below 2^32"));
    }
    return {};
}

// An absent file is no configuration, whether it was named or not.
Result<std::string> read_file(const std::string& path) {
    errno = 0;
    std::ifstream file(path);
    if (!file) {
        if (errno == ENOENT) return std::string();
        return protocol::fail(protocol::Failure::from_errno("open " + path, errno));
    }
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

Invocation::What action_of(const options::variables_map& given) {
    if (given.contains("help")) return Invocation::What::help;
    if (given.contains("version")) return Invocation::What::version;
    return given.contains("command") ? Invocation::What::doctor : Invocation::What::serve;
}

Result<Invocation> parse_or_throw(const std::vector<std::string>& arguments) {
    Invocation invocation;
    Raw raw = standard_values(invocation.config);
    const auto in_both = settings(invocation.config, raw);
    options::options_description on_line;
    on_line.add(in_both).add(actions(raw));
    on_line.add_options()("command", options::value<std::string>());
    options::positional_options_description positional;
    positional.add("command", 1);

    // No guessing: an abbreviation that works today is ambiguous tomorrow.
    const int style =
        options::command_line_style::default_style & ~options::command_line_style::allow_guessing;
    options::variables_map given;
    options::store(options::command_line_parser(arguments)
                       .options(on_line)
                       .positional(positional)
                       .style(style)
                       .run(),
                   given);
    invocation.what = action_of(given);
    invocation.json = given.contains("json");
    invocation.no_boot = given.contains("no-boot");
    if (given.contains("command") && given["command"].as<std::string>() != "doctor") {
        return protocol::fail(Kind::invalid_argument, "\"" + given["command"].as<std::string>() +
                                                          "\" is no command; there is one: doctor");
    }
    const std::string path = given["config"].as<std::string>();
    TRY(const std::string text, read_file(path));
    std::istringstream file(text);
    try {
        options::store(options::parse_config_file(file, in_both), given);
    } catch (const options::error& error) {
        return protocol::fail(Kind::invalid_argument, path + ": " + error.what());
    }
    options::notify(given);
    TRY_VOID(finish(invocation.config, raw));
    return invocation;
}

}  // namespace

Config::Config()
    : memory_bytes(defaults::memory_bytes),
      cpus(defaults::cpus),
      live_runs(defaults::live_runs),
      child_runs(defaults::child_runs),
      memory_reserve_bytes(defaults::host_memory_reserve_bytes),
      disk_reserve_bytes(defaults::host_disk_reserve_bytes),
      stored_output_bytes(defaults::stored_output_bytes),
      retention_hours(std::chrono::hours(defaults::ended_runs_retention).count()),
      uid_first(defaults::uid_first),
      uid_count(defaults::uid_count) {}

Result<Invocation> parse(const std::vector<std::string>& arguments) {
    try {
        return parse_or_throw(arguments);
    } catch (const options::error& error) {
        return protocol::fail(Kind::invalid_argument, error.what());
    }
}

std::string help() {
    Config config;
    Raw raw = standard_values(config);
    std::ostringstream text;
    text << "capsuled: runs capsules\n\n"
            "Usage: capsuled [options]                        serve\n"
            "       capsuled doctor [--json] [--no-boot]      what this host can do\n\n"
         << settings(config, raw) << '\n'
         << actions(raw);
    return text.str();
}

std::vector<OptionText> option_texts() {
    Config config;
    Raw raw = standard_values(config);
    std::vector<OptionText> texts;
    const auto known = settings(config, raw);
    for (const auto& option : known.options()) {
        // "MIB (=512)"
        const std::string parameter = option->format_parameter();
        const std::size_t open = parameter.find(" (=");
        OptionText text;
        text.name = option->long_name();
        text.value = parameter.substr(0, open);
        text.help = option->description();
        if (open != std::string::npos) {
            const std::size_t start = open + 3;
            text.standard = parameter.substr(start, parameter.size() - start - 1);
        }
        texts.push_back(std::move(text));
    }
    return texts;
}

}  // namespace host::config
