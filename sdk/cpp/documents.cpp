#include "sdk/cpp/documents.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

namespace sdk {
namespace {

using protocol::fail;
using protocol::Kind;

tl::unexpected<protocol::Failure> unexpected_answer(std::string_view what) {
    return fail(Kind::protocol_violation,
                "the daemon's answer is not " + std::string(what) + "; is it another version?");
}

std::string text_of(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    if (value == nullptr) return {};
    if (const auto* text = value->if_string()) return std::string(*text);
    if (value->is_number()) return json::serialize(*value);
    return {};
}

std::optional<std::uint64_t> count_of(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    if (value == nullptr || !value->is_number()) return std::nullopt;
    boost::system::error_code error;
    const auto count = value->to_number<std::uint64_t>(error);
    if (error) return std::nullopt;
    return count;
}

std::vector<std::string> texts_of(const json::object& object, std::string_view name) {
    std::vector<std::string> texts;
    const json::value* value = object.if_contains(name);
    if (value == nullptr || !value->is_array()) return texts;
    for (const json::value& item : value->get_array()) {
        if (const auto* text = item.if_string()) texts.emplace_back(*text);
    }
    return texts;
}

// RFC 4648; stops at padding or at a character that is not of the alphabet.
std::string decode_base64(std::string_view text) {
    static constexpr std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char character : text) {
        const auto digit = alphabet.find(character);
        if (digit == std::string_view::npos) break;
        bits = bits << 6 | static_cast<std::uint32_t>(digit);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes.push_back(static_cast<char>(bits >> count & 0xFF));
    }
    return bytes;
}

}  // namespace

bool Run::has_ended() const {
    return status == "Finished" || status == "Error" || status == "Terminated";
}

Result<Named> read_named(const json::value& value) {
    const json::object* object = value.if_object();
    if (object == nullptr || !object->contains("name")) return unexpected_answer("a named thing");
    Named named;
    named.name = text_of(*object, "name");
    named.space = text_of(*object, "namespace");
    named.created_at = text_of(*object, "createdAt");
    named.updated_at = text_of(*object, "updatedAt");
    named.document = *object;
    return named;
}

Result<Run> read_run(const json::value& value) {
    const json::object* object = value.if_object();
    if (object == nullptr || !object->contains("id") || !object->contains("status")) {
        return unexpected_answer("a run");
    }
    Run run;
    run.id = text_of(*object, "id");
    run.space = text_of(*object, "namespace");
    run.capsule = text_of(*object, "capsule");
    run.status = text_of(*object, "status");
    run.phase = text_of(*object, "phase");
    run.failure_details = text_of(*object, "failureDetails");
    run.created_at = text_of(*object, "createdAt");
    run.ready_at = text_of(*object, "readyAt");
    run.ended_at = text_of(*object, "endedAt");
    run.max_duration = text_of(*object, "maxDuration");
    run.accelerator = text_of(*object, "accelerator");
    run.transport = text_of(*object, "transport");
    run.image = text_of(*object, "image");
    run.started_by = text_of(*object, "startedBy");
    run.document = *object;
    return run;
}

Result<Command> read_command(const json::value& value) {
    const json::object* object = value.if_object();
    if (object == nullptr || !object->contains("id") || !object->contains("status")) {
        return unexpected_answer("a command");
    }
    Command command;
    command.id = text_of(*object, "id");
    command.run_id = text_of(*object, "runId");
    command.command = text_of(*object, "command");
    command.arguments = texts_of(*object, "arguments");
    command.run_as_user = text_of(*object, "runAsUser");
    command.status = text_of(*object, "status");
    command.end_reason = text_of(*object, "endReason");
    command.reason = text_of(*object, "reason");
    command.sequence = count_of(*object, "sequence").value_or(0);
    if (const auto* async = object->if_contains("async"); async != nullptr && async->is_bool()) {
        command.async = async->get_bool();
    }
    if (const auto* code = object->if_contains("exitCode"); code != nullptr && code->is_int64()) {
        command.exit_code = static_cast<int>(code->get_int64());
    }
    command.output_standard = text_of(*object, "outputStandard");
    command.output_error = text_of(*object, "outputError");
    command.output_standard_full_length = count_of(*object, "outputStandardFullLength");
    command.output_error_full_length = count_of(*object, "outputErrorFullLength");
    command.created_at = text_of(*object, "createdAt");
    command.started_at = text_of(*object, "startedAt");
    command.ended_at = text_of(*object, "endedAt");
    command.document = *object;
    return command;
}

std::vector<Diagnostic> read_diagnostics(const json::object& problem) {
    std::vector<Diagnostic> diagnostics;
    const json::value* errors = problem.if_contains("errors");
    if (errors == nullptr || !errors->is_array()) return diagnostics;
    for (const json::value& item : errors->get_array()) {
        const json::object* object = item.if_object();
        if (object == nullptr) continue;
        Diagnostic diagnostic;
        diagnostic.file = text_of(*object, "file");
        diagnostic.name = text_of(*object, "name");
        diagnostic.message = text_of(*object, "message");
        diagnostic.line = count_of(*object, "line").value_or(0);
        diagnostic.column = count_of(*object, "column").value_or(0);
        diagnostics.push_back(std::move(diagnostic));
    }
    return diagnostics;
}

Result<DeployReport> read_deploy_report(const json::value& value) {
    const json::object* object = value.if_object();
    if (object == nullptr) return unexpected_answer("the report of a deploy");
    DeployReport report;
    report.created = texts_of(*object, "created");
    report.updated = texts_of(*object, "updated");
    report.unchanged = texts_of(*object, "unchanged");
    report.skipped = texts_of(*object, "skipped");
    report.document = *object;
    return report;
}

Result<VfsEntry> read_vfs_entry(const json::value& value) {
    const json::object* object = value.if_object();
    if (object == nullptr || !object->contains("type")) return unexpected_answer("a file's entry");
    VfsEntry entry;
    const std::string encoded = text_of(*object, "nameBase64");
    entry.name = encoded.empty() ? text_of(*object, "name") : decode_base64(encoded);
    entry.type = text_of(*object, "type");
    entry.size = count_of(*object, "size").value_or(0);
    entry.mode = text_of(*object, "mode");
    entry.modified_at = text_of(*object, "modifiedAt");
    entry.document = *object;
    return entry;
}

json::object write_exec_request(const ExecRequest& request) {
    json::object object;
    object["command"] = request.command;
    if (!request.arguments.empty()) {
        json::array arguments;
        for (const std::string& argument : request.arguments) arguments.emplace_back(argument);
        object["arguments"] = std::move(arguments);
    }
    if (!request.run_as_user.empty()) object["runAsUser"] = request.run_as_user;
    if (request.max_duration) object["maxDuration"] = request.max_duration->count();
    if (request.async) object["async"] = true;
    if (!request.environment.empty()) {
        json::object variables;
        for (const auto& [name, value] : request.environment) variables[name] = value;
        object["environment"] = std::move(variables);
    }
    if (!request.working_directory.empty()) object["workingDirectory"] = request.working_directory;
    if (request.input == ExecRequest::Input::pipe) object["stdin"] = "pipe";
    if (request.hold_output) object["holdOutput"] = true;
    if (request.terminal) {
        json::object size;
        size["rows"] = request.terminal->rows;
        size["columns"] = request.terminal->columns;
        object["terminal"] = std::move(size);
    }
    return object;
}

template <typename T>
Result<Page<T>> read_page(const json::value& value, std::string_view list,
                          Result<T> (*read)(const json::value&)) {
    const json::object* object = value.if_object();
    const json::value* items = object != nullptr ? object->if_contains(list) : nullptr;
    if (items == nullptr || !items->is_array()) return unexpected_answer("a list");
    Page<T> page;
    for (const json::value& item : items->get_array()) {
        TRY(T element, read(item));
        page.items.push_back(std::move(element));
    }
    page.next = text_of(*object, "next");
    return page;
}

template Result<Page<Named>> read_page(const json::value&, std::string_view,
                                       Result<Named> (*)(const json::value&));
template Result<Page<Run>> read_page(const json::value&, std::string_view,
                                     Result<Run> (*)(const json::value&));
template Result<Page<Command>> read_page(const json::value&, std::string_view,
                                         Result<Command> (*)(const json::value&));
template Result<Page<VfsEntry>> read_page(const json::value&, std::string_view,
                                          Result<VfsEntry> (*)(const json::value&));

}  // namespace sdk
