#include "host/api/records_json.hpp"

#include "protocol/base/duration.hpp"
#include "protocol/base/utf8.hpp"
#include "protocol/text/utf8_decoder.hpp"
#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/limits.hpp"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

namespace host::api {

namespace json = boost::json;

namespace {

void set_time(json::object& object, std::string_view name,
              const std::optional<model::UnixMillis>& time) {
    if (time) object[name] = json_time(*time);
}

json::array texts(const std::vector<std::string>& list) {
    json::array result;
    for (const auto& text : list) result.emplace_back(json_text(text));
    return result;
}

std::string duration_text(std::uint64_t milliseconds) {
    return protocol::format_duration(
        protocol::Milliseconds(static_cast<std::int64_t>(milliseconds)));
}

json::object named(const model::QualifiedName& name, model::UnixMillis created_at) {
    json::object object;
    object["name"] = name.name;
    object["namespace"] = name.space;
    object["createdAt"] = json_time(created_at);
    return object;
}

json::object reference(const model::QualifiedName& name) {
    json::object object;
    object["namespace"] = name.space;
    object["name"] = name.name;
    return object;
}

void set_output(json::object& object, std::string name, const model::OutputRecord& output) {
    object[name] = json_text(output.window);
    if (output.characters > protocol::limits::output_window_characters) {
        object[name + "FullLength"] = output.characters;
    }
}

std::string_view type_of(storage::VfsEntry::Type type) {
    switch (type) {
        case storage::VfsEntry::Type::file:
            return "file";
        case storage::VfsEntry::Type::folder:
            return "folder";
        case storage::VfsEntry::Type::link:
            return "link";
        case storage::VfsEntry::Type::other:
            return "other";
    }
    return "other";
}

std::string base64(std::string_view bytes) {
    constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        const std::size_t size = std::min<std::size_t>(3, bytes.size() - i);
        for (std::size_t k = 0; k < 3; ++k) {
            group = group << 8 | (k < size ? static_cast<unsigned char>(bytes[i + k]) : 0u);
        }
        for (std::size_t k = 0; k < 4; ++k) {
            out += k <= size ? digits[(group >> (18 - 6 * k)) & 0x3Fu] : '=';
        }
    }
    return out;
}

}  // namespace

json::string json_text(std::string_view text) {
    if (protocol::is_valid_utf8(text)) return json::string(text);
    std::string readable;
    protocol::Utf8Decoder decoder;
    decoder.decode(text, readable);
    decoder.finish(readable);
    return json::string(readable);
}

std::string json_time(model::UnixMillis time) {
    model::UnixMillis seconds = time / 1000;
    model::UnixMillis rest = time % 1000;
    if (rest < 0) {
        rest += 1000;
        --seconds;
    }
    const std::time_t instant = seconds;
    std::tm parts{};
    ::gmtime_r(&instant, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                       rest);
}

json::object to_json(const model::NamespaceRecord& record) {
    json::object object;
    object["name"] = record.name;
    object["createdAt"] = json_time(record.created_at);
    if (!record.image.empty()) object["image"] = record.image;
    return object;
}

json::object to_json(const model::VfsRecord& record) {
    return named(record.name, record.created_at);
}

json::object to_json(const model::SecretRecord& record) {
    json::object object = named(record.name, record.created_at);
    object["updatedAt"] = json_time(record.updated_at);
    return object;
}

json::object to_json(const model::CapsuleRecord& record, Details details) {
    json::object object = named(record.name, record.created_at);
    object["updatedAt"] = json_time(record.updated_at);
    if (details == Details::all) {
        object["definition"] = to_json(record.definition);
        object["source"] = json_text(record.source);
    }
    return object;
}

json::object to_json(const model::Definition& definition) {
    json::object object;
    object["packages"] = texts(definition.packages);
    object["users"] = texts(definition.users);
    json::array vfs;
    for (const auto& mount : definition.vfs) {
        json::object item;
        item["vfs"] = reference(mount.vfs);
        item["mountName"] = mount.mount_name;
        item["readOnly"] = mount.read_only;
        vfs.push_back(std::move(item));
    }
    object["vfs"] = std::move(vfs);
    json::array secrets;
    for (const auto& mount : definition.secrets) {
        json::object item;
        item["secret"] = reference(mount.secret);
        item["mountName"] = mount.mount_name;
        secrets.push_back(std::move(item));
    }
    object["secrets"] = std::move(secrets);
    json::array startup;
    for (const auto& command : definition.startup) {
        json::object item;
        item["command"] = json_text(command.command);
        item["arguments"] = texts(command.arguments);
        if (!command.run_as_user.empty()) item["runAsUser"] = command.run_as_user;
        if (command.max_duration_ms) item["maxDuration"] = duration_text(*command.max_duration_ms);
        item["wait"] = command.wait;
        startup.push_back(std::move(item));
    }
    object["startup"] = std::move(startup);
    object["autoTerminate"] = definition.auto_terminate;
    object["maxDuration"] = duration_text(definition.max_duration_ms);
    if (definition.network.mode == "hosts") {
        object["network"] = texts(definition.network.hosts);
    } else {
        object["network"] = definition.network.mode;
    }
    if (!definition.image.empty()) object["image"] = definition.image;
    json::object resources;
    if (definition.resources.cpus) resources["cpus"] = *definition.resources.cpus;
    if (definition.resources.memory_bytes)
        resources["memoryBytes"] = *definition.resources.memory_bytes;
    if (definition.resources.disk_bytes) resources["diskBytes"] = *definition.resources.disk_bytes;
    object["resources"] = std::move(resources);
    json::object environment;
    for (const auto& variable : definition.environment)
        environment[variable.name] = json_text(variable.value);
    object["environment"] = std::move(environment);
    if (!definition.working_directory.empty())
        object["workingDirectory"] = json_text(definition.working_directory);
    return object;
}

json::object to_json(const model::RunRecord& record) {
    json::object object;
    object["id"] = record.id.str();
    object["namespace"] = record.capsule.space;
    object["capsule"] = record.capsule.name;
    object["status"] = model::to_string(record.status);
    object["phase"] = model::to_string(record.phase);
    if (!record.failure_details.empty())
        object["failureDetails"] = json_text(record.failure_details);
    object["createdAt"] = json_time(record.created_at);
    set_time(object, "readyAt", record.ready_at);
    set_time(object, "endedAt", record.ended_at);
    object["maxDuration"] = duration_text(record.definition.max_duration_ms);
    object["accelerator"] = record.accelerator;
    object["transport"] = record.transport;
    object["startedBy"] = record.started_by;
    if (!record.definition.image.empty()) object["image"] = record.definition.image;
    return object;
}

json::object to_json(const sandbox::ImageInfo& image) {
    json::object object;
    object["name"] = image.name;
    object["version"] = image.version;
    object["current"] = image.current;
    object["default"] = image.standard;
    if (!image.problem.empty()) {
        object["problem"] = json_text(image.problem);
        return object;
    }
    object["createdAt"] = json_text(image.created);
    object["debianVersion"] = json_text(image.debian_version);
    object["diskBytes"] = image.disk_bytes;
    object["fileBytes"] = image.file_bytes;
    json::array archives, missing, packages;
    for (const auto& archive : image.archives) {
        json::object entry;
        entry["name"] = json_text(archive.name);
        entry["what"] = json_text(archive.what);
        entry["version"] = json_text(archive.version);
        archives.push_back(std::move(entry));
    }
    for (const auto& gap : image.missing) {
        json::object entry;
        entry["name"] = json_text(gap.name);
        entry["what"] = json_text(gap.what);
        entry["reason"] = json_text(gap.reason);
        missing.push_back(std::move(entry));
    }
    for (const auto& package : image.packages) {
        json::object entry;
        entry["name"] = json_text(package.name);
        entry["version"] = json_text(package.version);
        packages.push_back(std::move(entry));
    }
    object["archives"] = std::move(archives);
    object["missing"] = std::move(missing);
    if (!packages.empty()) object["packages"] = std::move(packages);
    return object;
}

json::object to_json(const model::CommandRecord& record, Outputs outputs) {
    json::object object;
    object["id"] = record.id.str();
    object["runId"] = record.run.str();
    object["sequence"] = record.sequence;
    object["command"] = json_text(record.command);
    object["arguments"] = texts(record.arguments);
    object["runAsUser"] = record.run_as_user.empty() ? model::default_user : record.run_as_user;
    object["async"] = record.async;
    if (record.max_duration_ms) object["maxDuration"] = duration_text(*record.max_duration_ms);
    object["status"] = model::to_string(record.status);
    if (record.end_reason != model::EndReason::none)
        object["endReason"] = model::to_string(record.end_reason);
    if (!record.reason.empty()) object["reason"] = json_text(record.reason);
    if (record.exit_code) object["exitCode"] = *record.exit_code;
    if (outputs == Outputs::with) {
        set_output(object, "outputStandard", record.output);
        set_output(object, "outputError", record.error);
    }
    if (record.run_time_ms) object["runTimeMs"] = *record.run_time_ms;
    if (record.peak_memory_bytes) object["peakMemoryBytes"] = *record.peak_memory_bytes;
    object["createdAt"] = json_time(record.created_at);
    set_time(object, "startedAt", record.started_at);
    set_time(object, "endedAt", record.ended_at);
    return object;
}

json::object to_json(const model::EventRecord& record) {
    json::object object;
    object["id"] = record.id;
    object["type"] = json_text(record.type);
    object["namespace"] = json_text(record.space);
    object["at"] = json_time(record.at);
    // Our own text; an event that cannot be read shall not end the stream.
    auto data = protocol::parse_json(record.data);
    object["data"] = data ? std::move(*data) : json::value(json::object());
    return object;
}

json::object to_json(const model::ApiKeyRecord& record) {
    json::object object;
    object["id"] = json_text(record.id);
    object["label"] = json_text(record.label);
    object["namespaces"] = texts(record.namespaces);
    object["createdAt"] = json_time(record.created_at);
    return object;
}

json::object to_json(const sandbox::DeployReport& report) {
    json::object object;
    object["created"] = texts(report.created);
    object["updated"] = texts(report.updated);
    object["unchanged"] = texts(report.unchanged);
    object["skipped"] = texts(report.skipped);
    return object;
}

json::object to_json(const storage::VfsEntry& entry) {
    json::object object;
    object["name"] = json_text(entry.name);
    // Names are bytes; one that is no text can be asked for exactly with this.
    if (!protocol::is_valid_utf8(entry.name)) object["nameBase64"] = base64(entry.name);
    object["type"] = type_of(entry.type);
    object["size"] = entry.size;
    object["mode"] = fmt::format("{:04o}", entry.mode & 07777u);
    object["modifiedAt"] = json_time(entry.modified_unix_ms);
    return object;
}

}  // namespace host::api
