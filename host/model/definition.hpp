#pragma once
// Definition: what a capsule's recipe says, after parsing and checking. A plain value; stored as
// JSON with the run that was started from it, so that a later deploy changes no running machine.
// Property names and meanings: docs/definitions.md.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe.hpp>

namespace host::model {

struct QualifiedName {
    QualifiedName() = default;
    std::string space, name;  // namespace and name, both valid names
    auto operator<=>(const QualifiedName&) const = default;
};
BOOST_DESCRIBE_STRUCT(QualifiedName, (), (space, name))

struct VfsMount {
    VfsMount() = default;
    QualifiedName vfs;
    std::string mount_name;
    bool read_only = false;
};
BOOST_DESCRIBE_STRUCT(VfsMount, (), (vfs, mount_name, read_only))

struct SecretMount {
    SecretMount() = default;
    QualifiedName secret;
    std::string mount_name;
};
BOOST_DESCRIBE_STRUCT(SecretMount, (), (secret, mount_name))

struct StartupCommand {
    StartupCommand() = default;
    std::string command;
    std::vector<std::string> arguments;
    std::string run_as_user;  // "" = the default user
    std::optional<std::uint64_t> max_duration_ms;
    bool wait = true;
};
BOOST_DESCRIBE_STRUCT(StartupCommand, (), (command, arguments, run_as_user, max_duration_ms, wait))

struct Variable {
    Variable() = default;
    std::string name, value;
};
BOOST_DESCRIBE_STRUCT(Variable, (), (name, value))

// mode: "none", "packages", "internet" or "hosts" (then `hosts` has exact names or "*.suffix").
struct Network {
    Network() = default;
    std::string mode = "packages";
    std::vector<std::string> hosts;
};
BOOST_DESCRIBE_STRUCT(Network, (), (mode, hosts))

// Absent: the daemon's defaults.
struct Resources {
    Resources() = default;
    std::optional<std::uint32_t> cpus;
    std::optional<std::uint64_t> memory_bytes, disk_bytes;
};
BOOST_DESCRIBE_STRUCT(Resources, (), (cpus, memory_bytes, disk_bytes))

struct Definition {
    Definition() = default;
    std::vector<std::string> packages;
    std::vector<std::string> users;
    std::vector<VfsMount> vfs;
    std::vector<SecretMount> secrets;
    std::vector<StartupCommand> startup;
    bool auto_terminate = false;
    std::uint64_t max_duration_ms = 600'000;
    Network network;
    std::string image;  // "" = the namespace's or the daemon's default
    Resources resources;
    std::vector<Variable> environment;
    std::string working_directory;  // "" = the user's home
};
BOOST_DESCRIBE_STRUCT(Definition, (),
                      (packages, users, vfs, secrets, startup, auto_terminate, max_duration_ms,
                       network, image, resources, environment, working_directory))

inline constexpr char default_user[] = "maitento";

}  // namespace host::model
