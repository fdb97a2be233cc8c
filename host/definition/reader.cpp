#include "host/definition/reader.hpp"

#include "host/definition/properties.hpp"
#include "host/model/defaults.hpp"
#include "protocol/text/shell_text.hpp"
#include "protocol/wire/limits.hpp"

#include <algorithm>

namespace host::definition {

model::Definition Reader::definition(const Object& file) {
    const std::vector<Property> properties = {
        {"packages", [this](const Value& v) { packages(v); }},
        {"users", [this](const Value& v) { users(v); }},
        {"vfs", [this](const Value& v) { vfs(v); }},
        {"secrets", [this](const Value& v) { secrets(v); }},
        {"startup", [this](const Value& v) { startup(v); }},
        {"autoTerminate",
         [this](const Value& v) {
             if (const auto flag = boolean(v, "autoTerminate")) result_.auto_terminate = *flag;
         }},
        {"maxDuration",
         [this](const Value& v) {
             if (const auto limit = duration(v, "maxDuration")) result_.max_duration_ms = *limit;
         }},
        {"network", [this](const Value& v) { network(v); }},
        {"image",
         [this](const Value& v) {
             const auto* name = string(v, "image");
             if (!name) return;
             if (const auto objection = check_name(*name))
                 object_to(v.at, "image", *name, *objection);
             result_.image = *name;
         }},
        {"resources", [this](const Value& v) { resources(v); }},
        {"environment", [this](const Value& v) { environment(v); }},
        {"workingDirectory",
         [this](const Value& v) {
             const auto* path = string(v, "workingDirectory");
             if (!path) return;
             if (const auto objection = check_working_directory(*path)) {
                 object_to(v.at, "workingDirectory", *path, *objection);
             }
             result_.working_directory = *path;
         }},
    };
    read_properties(file, {}, properties, findings());
    check_startup_users();
    return std::move(result_);
}

void Reader::packages(const Value& value) {
    const auto* items = list(value, "packages", limits::packages);
    if (!items) return;
    for (const Value& item : *items) {
        const auto* name = string(item, "packages");
        if (!name) continue;
        if (const auto objection = check_package(*name)) {
            object_to(item.at, "packages", *name, *objection);
        } else if (std::ranges::find(result_.packages, *name) == result_.packages.end()) {
            result_.packages.push_back(*name);
        }
    }
}

void Reader::each(const Value& value, std::string_view name, std::size_t limit,
                  const std::function<void(const Object&, Position)>& read) {
    const auto* items = list(value, name, limit);
    if (!items) return;
    for (const Value& item : *items) {
        if (const auto* entries = object(item, name)) read(*entries, item.at);
    }
}

void Reader::users(const Value& value) {
    each(value, "users", limits::users, [this](const Object& entries, Position at) {
        const std::vector<Property> properties = {
            {"name",
             [this](const Value& v) {
                 const auto* name = string(v, "users");
                 if (!name) return;
                 if (const auto objection = check_new_user(*name)) {
                     object_to(v.at, "users", *name, *objection);
                 } else if (std::ranges::find(result_.users, *name) != result_.users.end()) {
                     object_to(v.at, "users", *name, "is listed twice");
                 } else {
                     result_.users.push_back(*name);
                 }
             },
             Property::Need::required},
        };
        read_properties(entries, at, properties, findings());
    });
}

std::string Reader::mount_name(const Value& value, Objection (*check)(std::string_view),
                               std::string_view what, std::set<std::string>& taken) {
    const auto* name = string(value, "mountName");
    if (!name) return {};
    if (const auto objection = check(*name)) {
        object_to(value.at, "mountName", *name, *objection);
    } else if (!taken.insert(*name).second) {
        object_to(value.at, "mountName", *name,
                  "is used by another " + std::string(what) + " of this capsule");
    }
    return *name;
}

void Reader::vfs(const Value& value) {
    std::set<std::string> mount_names;
    each(value, "vfs", limits::vfs_mounts, [&](const Object& entries, Position at) {
        model::VfsMount mount;
        const std::vector<Property> properties = {
            {"vfs",
             [&](const Value& v) {
                 if (auto target = reference(v, "vfs")) mount.vfs = std::move(*target);
             },
             Property::Need::required},
            {"mountName",
             [&](const Value& v) {
                 mount.mount_name = mount_name(v, check_vfs_mount_name, "VFS", mount_names);
             },
             Property::Need::required},
            {"readOnly",
             [&](const Value& v) {
                 if (const auto flag = boolean(v, "readOnly")) mount.read_only = *flag;
             }},
        };
        read_properties(entries, at, properties, findings());
        result_.vfs.push_back(std::move(mount));
    });
}

void Reader::secrets(const Value& value) {
    std::set<std::string> mount_names;
    each(value, "secrets", limits::secret_mounts, [&](const Object& entries, Position at) {
        model::SecretMount mount;
        const std::vector<Property> properties = {
            {"secret",
             [&](const Value& v) {
                 if (auto target = reference(v, "secret")) mount.secret = std::move(*target);
             },
             Property::Need::required},
            {"mountName",
             [&](const Value& v) {
                 mount.mount_name = mount_name(v, check_name, "secret", mount_names);
             },
             Property::Need::required},
        };
        read_properties(entries, at, properties, findings());
        result_.secrets.push_back(std::move(mount));
    });
}

void Reader::startup(const Value& value) {
    each(value, "startup", limits::startup_commands, [this](const Object& entries, Position at) {
        model::StartupCommand command;
        std::optional<Position> command_at;
        const std::vector<Property> properties = {
            {"command",
             [&](const Value& v) {
                 const auto* text = string(v, "command");
                 if (!text) return;
                 command.command = *text;
                 command_at = v.at;
             },
             Property::Need::required},
            {"arguments",
             [&](const Value& v) {
                 const auto* words = list(v, "arguments", protocol::limits::arguments);
                 if (!words) return;
                 for (const Value& word : *words) {
                     const auto* text = string(word, "arguments");
                     if (!text) continue;
                     if (const auto objection = check_argument(*text)) {
                         object_to(word.at, "arguments", *text, *objection);
                     }
                     command.arguments.push_back(*text);
                 }
             }},
            {"runAsUser",
             [&](const Value& v) {
                 const auto* name = string(v, "runAsUser");
                 if (!name) return;
                 command.run_as_user = *name;
                 if (const auto objection = check_user(*name)) {
                     object_to(v.at, "runAsUser", *name, *objection);
                 } else {
                     startup_users_.emplace_back(*name, v.at);
                 }
             }},
            {"maxDuration",
             [&](const Value& v) { command.max_duration_ms = duration(v, "maxDuration"); }},
            {"wait",
             [&](const Value& v) {
                 if (const auto flag = boolean(v, "wait")) command.wait = *flag;
             }},
        };
        read_properties(entries, at, properties, findings());
        if (command_at) check_shell_text(command, *command_at);
        result_.startup.push_back(std::move(command));
    });
}

void Reader::check_shell_text(const model::StartupCommand& command, Position at) {
    const auto arguments =
        command.arguments.empty() ? protocol::ShellArguments::none : protocol::ShellArguments::some;
    if (const auto text = protocol::prepare_shell_text(command.command, arguments); !text) {
        findings().add(at, "command", "command: " + text.error().message());
    }
}

void Reader::network(const Value& value) {
    if (const auto* mode = std::get_if<std::string>(&value.data)) {
        if (*mode == "none" || *mode == "packages" || *mode == "internet") {
            result_.network.mode = *mode;
            return;
        }
        object_to(value.at, "network", *mode,
                  "is not known: write \"none\", \"packages\", \"internet\" or a list of hosts");
        return;
    }
    if (!std::holds_alternative<List>(value.data)) {
        wrong_type(value, "network", "\"none\", \"packages\", \"internet\" or a list of hosts");
        return;
    }
    const auto* items = list(value, "network", limits::hosts);
    if (!items) return;
    if (items->empty()) {
        findings().add(value.at, "network", "network is an empty list; write \"none\"");
        return;
    }
    result_.network.mode = "hosts";
    for (const Value& item : *items) {
        const auto* text = string(item, "network");
        if (!text) continue;
        std::string host = *text;
        std::ranges::transform(host, host.begin(), [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        });
        if (const auto objection = check_host_pattern(host)) {
            object_to(item.at, "network", *text, *objection);
        } else if (std::ranges::find(result_.network.hosts, host) == result_.network.hosts.end()) {
            result_.network.hosts.push_back(std::move(host));
        }
    }
}

void Reader::resources(const Value& value) {
    const auto* entries = object(value, "resources");
    if (!entries) return;
    const auto bounded = [this](const Value& v, std::string_view name, std::uint64_t low,
                                std::uint64_t high) -> std::optional<std::uint64_t> {
        const auto bytes = size(v, name);
        if (bytes && (*bytes < low || *bytes > high)) {
            object_to(v.at, name, std::get<std::string>(v.data),
                      "is out of range: " + std::to_string(low >> 20) + "M to " +
                          std::to_string(high >> 30) + "G");
        }
        return bytes;
    };
    const std::vector<Property> properties = {
        {"cpus",
         [&](const Value& v) {
             const auto number = integer(v, "cpus");
             if (!number) return;
             if (*number < 1 || *number > limits::cpus) {
                 object_to(v.at, "cpus", std::to_string(*number),
                           "is out of range: 1 to " + std::to_string(limits::cpus));
                 return;
             }
             result_.resources.cpus = static_cast<std::uint32_t>(*number);
         }},
        {"memory",
         [&](const Value& v) {
             result_.resources.memory_bytes =
                 bounded(v, "memory", model::defaults::memory_bytes_min, limits::memory_bytes_max);
         }},
        {"disk",
         [&](const Value& v) {
             result_.resources.disk_bytes =
                 bounded(v, "disk", limits::disk_bytes_min, limits::disk_bytes_max);
         }},
    };
    read_properties(*entries, value.at, properties, findings());
}

void Reader::environment(const Value& value) {
    const auto* entries = object(value, "environment");
    if (!entries) return;
    if (entries->size() > limits::environment_entries) {
        findings().add(value.at, "environment",
                       "environment has more than " + std::to_string(limits::environment_entries) +
                           " entries");
        return;
    }
    for (const Entry& entry : *entries) {
        if (const auto objection = check_variable_name(entry.name)) {
            object_to(entry.at, "environment", entry.name, *objection);
        }
        const auto* text = string(entry.value, "environment");
        if (!text) continue;
        if (const auto objection = check_argument(*text)) {
            object_to(entry.value.at, "environment", entry.name, *objection);
        }
        // The kernel refuses longer ones, for every command of the run.
        if (entry.name.size() + 1 + text->size() > protocol::limits::argument_bytes) {
            object_to(entry.value.at, "environment", entry.name,
                      "is longer than " + std::to_string(protocol::limits::argument_bytes) +
                          " bytes with its value");
        }
        model::Variable variable;
        variable.name = entry.name;
        variable.value = *text;
        result_.environment.push_back(std::move(variable));
    }
}

// A name that nothing can have created is a typing mistake. With packages or an image of its own
// the machine may have users that are not known here.
void Reader::check_startup_users() {
    if (!result_.packages.empty() || !result_.image.empty()) return;
    for (const auto& [name, at] : startup_users_) {
        if (is_reserved_user(name)) continue;
        if (std::ranges::find(result_.users, name) != result_.users.end()) continue;
        object_to(at, "runAsUser", name, "is not a user of this capsule; list it in users");
    }
}

}  // namespace host::definition
