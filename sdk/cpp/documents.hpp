#pragma once
// What the API speaks of, as plain values. Each keeps the JSON it was read from, so that a caller
// can show members this version does not know. Members that a daemon left out are empty.

#include "protocol/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

namespace sdk {

using protocol::Result;
namespace json = boost::json;

struct Named {  // a namespace, VFS, secret or capsule in a list
    Named() = default;
    std::string name, space, created_at, updated_at;
    json::object document;
};

struct Run {
    Run() = default;
    std::string id, space, capsule, status, phase, failure_details;
    std::string created_at, ready_at, ended_at, max_duration, accelerator, transport, started_by;
    std::string image;
    json::object document;
    bool has_started() const { return status != "Starting"; }
    bool has_ended() const;
};

struct Command {
    Command() = default;
    std::string id, run_id, command, run_as_user, status, end_reason, reason;
    std::vector<std::string> arguments;
    std::uint64_t sequence = 0;
    bool async = false;
    std::optional<int> exit_code;
    std::string output_standard, output_error;
    std::optional<std::uint64_t> output_standard_full_length, output_error_full_length;
    std::string created_at, started_at, ended_at;
    json::object document;
    bool has_ended() const { return status != "Queued" && status != "Running"; }
};

struct TerminalSize {
    TerminalSize() = default;
    TerminalSize(std::uint16_t height, std::uint16_t width) : rows(height), columns(width) {}
    std::uint16_t rows = 24, columns = 80;
};

struct ExecRequest {
    ExecRequest() = default;
    std::string command;
    std::vector<std::string> arguments;
    std::string run_as_user;
    std::optional<std::chrono::milliseconds> max_duration;
    bool async = false;
    std::vector<std::pair<std::string, std::string>> environment;
    std::string working_directory;
    enum class Input : std::uint8_t { none, pipe } input{};
    bool hold_output = false;
    std::optional<TerminalSize> terminal;
};

struct SourceFile {
    SourceFile() = default;
    std::string path, content;
};
struct Diagnostic {
    Diagnostic() = default;
    std::string file, name, message;
    std::uint64_t line = 0, column = 0;  // 0: the whole file
};
struct DeployReport {
    DeployReport() = default;
    std::vector<std::string> created, updated, unchanged, skipped;
    std::vector<Diagnostic> diagnostics;  // not empty: refused, nothing was changed
    json::object document;
};

struct VfsEntry {
    VfsEntry() = default;
    std::string name;  // raw bytes
    std::string type;  // file, folder, link, other
    std::uint64_t size = 0;
    std::string mode, modified_at;
    json::object document;
};

struct Event {
    Event() = default;
    std::string id, type, data;  // data: JSON text
};

template <typename T>
struct Page {
    std::vector<T> items;
    std::string next;  // "" = no more
};

// Documents from JSON; protocol_violation when a daemon's answer has not the shape it must have.
Result<Named> read_named(const json::value& value);
Result<Run> read_run(const json::value& value);
Result<Command> read_command(const json::value& value);
Result<DeployReport> read_deploy_report(const json::value& value);
std::vector<Diagnostic> read_diagnostics(const json::object& problem);
Result<VfsEntry> read_vfs_entry(const json::value& value);
json::object write_exec_request(const ExecRequest& request);

// The elements of member `list` of an answer, each read by `read`.
template <typename T>
Result<Page<T>> read_page(const json::value& value, std::string_view list,
                          Result<T> (*read)(const json::value&));

}  // namespace sdk
