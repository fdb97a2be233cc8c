#include "host/api/openapi.hpp"
#include "host/api/problem.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

namespace host::api {

namespace json = boost::json;

namespace {

constexpr char basic_schemas[] = R"({
"Text": {"type": "string"},
"Flag": {"type": "boolean", "default": false},
"Count": {"type": "integer", "minimum": 0, "default": 0},
"Name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,62}$"},
"Id": {"type": "string", "format": "uuid"},
"Time": {"type": "string", "format": "date-time"},
"Duration": {"type": "string", "pattern": "^[0-9]{2,}:[0-5][0-9]:[0-5][0-9]$"},
"DurationRequest": {"oneOf": [{"$ref": "#/components/schemas/Duration"},
  {"type": "integer", "minimum": 1, "description": "milliseconds"}]},
"Wait": {"type": "string", "pattern": "^[0-9]+(ms|s)$", "description": "at most 60s"},
"Until": {"enum": ["started", "ended"], "default": "ended"},
"PageLimit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
"Cursor": {"type": "string"},
"IdempotencyKey": {"type": "string", "pattern": "^[!-~]{1,200}$"},
"Empty": {"type": "object", "additionalProperties": false},
"Document": {"type": "object"},
"Ping": {"type": "object", "required": ["roundTripUs"], "additionalProperties": false,
  "properties": {"roundTripUs": {"type": "integer", "minimum": 0}}},
"Health": {"type": "object", "required": ["status", "version"], "additionalProperties": false,
  "properties": {"status": {"const": "ok"}, "version": {"type": "string"}}},
"Host": {"type": "object", "description": "accelerator, transport, images, limits and versions, for people and doctor"},
"NameRequest": {"type": "object", "required": ["name"], "additionalProperties": false,
  "properties": {"name": {"$ref": "#/components/schemas/Name"}}}
})";

constexpr char catalogue_schemas[] = R"({
"Namespace": {"type": "object", "required": ["name", "createdAt"], "additionalProperties": false,
  "properties": {"name": {"$ref": "#/components/schemas/Name"}, "createdAt": {"$ref": "#/components/schemas/Time"},
    "image": {"$ref": "#/components/schemas/Name", "description": "of capsules that name none; absent: the host's"}}},
"NamespaceList": {"type": "object", "required": ["items"], "additionalProperties": false,
  "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/Namespace"}}}},
"Vfs": {"type": "object", "required": ["name", "namespace", "createdAt"], "additionalProperties": false,
  "properties": {"name": {"$ref": "#/components/schemas/Name"}, "namespace": {"$ref": "#/components/schemas/Name"},
    "createdAt": {"$ref": "#/components/schemas/Time"}}},
"VfsList": {"type": "object", "required": ["items"], "additionalProperties": false,
  "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/Vfs"}}}},
"FileEntry": {"type": "object", "required": ["name", "type", "size", "mode", "modifiedAt"], "additionalProperties": false,
  "properties": {"name": {"type": "string"}, "nameBase64": {"type": "string", "contentEncoding": "base64"},
    "type": {"enum": ["file", "folder", "link", "other"]}, "size": {"type": "integer", "minimum": 0},
    "mode": {"type": "string", "pattern": "^[0-7]{4}$"}, "modifiedAt": {"$ref": "#/components/schemas/Time"}}},
"FileListing": {"oneOf": [
  {"type": "object", "required": ["entries"], "additionalProperties": false,
    "properties": {"entries": {"type": "array", "items": {"$ref": "#/components/schemas/FileEntry"}}}},
  {"$ref": "#/components/schemas/FileEntry"}]},
"FileOperation": {"type": "object", "required": ["operation"], "additionalProperties": false,
  "properties": {"operation": {"enum": ["makeFolder", "move"]}, "to": {"type": "string", "description": "with move: the new path"}}},
"Secret": {"type": "object", "required": ["name", "namespace", "createdAt", "updatedAt"], "additionalProperties": false,
  "properties": {"name": {"$ref": "#/components/schemas/Name"}, "namespace": {"$ref": "#/components/schemas/Name"},
    "createdAt": {"$ref": "#/components/schemas/Time"}, "updatedAt": {"$ref": "#/components/schemas/Time"}}},
"SecretList": {"type": "object", "required": ["items"], "additionalProperties": false,
  "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/Secret"}}}},
"DeployRequest": {"type": "object", "required": ["files"], "additionalProperties": false,
  "properties": {"files": {"type": "array", "items": {"type": "object", "required": ["path", "content"],
    "additionalProperties": false, "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}}}},
"DeployReport": {"type": "object", "required": ["created", "updated", "unchanged", "skipped"], "additionalProperties": false,
  "properties": {"created": {"type": "array", "items": {"type": "string"}}, "updated": {"type": "array", "items": {"type": "string"}},
    "unchanged": {"type": "array", "items": {"type": "string"}}, "skipped": {"type": "array", "items": {"type": "string"}}}},
"Capsule": {"type": "object", "required": ["name", "namespace", "createdAt", "updatedAt"], "additionalProperties": false,
  "properties": {"name": {"$ref": "#/components/schemas/Name"}, "namespace": {"$ref": "#/components/schemas/Name"},
    "createdAt": {"$ref": "#/components/schemas/Time"}, "updatedAt": {"$ref": "#/components/schemas/Time"},
    "definition": {"$ref": "#/components/schemas/Definition"}, "source": {"type": "string"}}},
"Definition": {"type": "object", "description": "docs/definitions.md, with references as {namespace, name} and defaults filled in"},
"CapsuleList": {"type": "object", "required": ["items"], "additionalProperties": false,
  "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/Capsule"}}}},
"Key": {"type": "object", "required": ["id", "label", "namespaces", "createdAt"], "additionalProperties": false,
  "properties": {"id": {"type": "string"}, "label": {"type": "string"},
    "namespaces": {"type": "array", "items": {"$ref": "#/components/schemas/Name"}, "description": "empty: all"},
    "createdAt": {"$ref": "#/components/schemas/Time"}}},
"KeyList": {"type": "object", "required": ["items"], "additionalProperties": false,
  "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/Key"}}}},
"KeyRequest": {"type": "object", "required": ["label", "namespaces"], "additionalProperties": false,
  "properties": {"label": {"type": "string"},
    "namespaces": {"type": "array", "items": {"$ref": "#/components/schemas/Name"}, "description": "empty: all"}}},
"NewKey": {"type": "object", "required": ["id", "key", "label", "namespaces", "createdAt"], "additionalProperties": false,
  "properties": {"id": {"type": "string"}, "key": {"type": "string"}, "label": {"type": "string"},
    "namespaces": {"type": "array", "items": {"$ref": "#/components/schemas/Name"}}, "createdAt": {"$ref": "#/components/schemas/Time"}}}
})";

constexpr char image_schemas[] = R"({
"Image": {"type": "object", "required": ["name", "version", "current", "default"], "additionalProperties": false,
  "properties": {"name": {"$ref": "#/components/schemas/Name"},
    "version": {"type": "string", "pattern": "^[a-z0-9-]+-[0-9a-f]{12}$", "description": "a name too, of exactly this one"},
    "current": {"type": "boolean", "description": "what the name alone stands for"},
    "default": {"type": "boolean", "description": "what capsules get that name none, where their namespace does not either"},
    "problem": {"type": "string", "description": "why it cannot be used; then nothing else is known"},
    "createdAt": {"$ref": "#/components/schemas/Time"}, "debianVersion": {"type": "string"},
    "diskBytes": {"type": "integer", "description": "size of a run's disk, at least"}, "fileBytes": {"type": "integer"},
    "archives": {"type": "array", "description": "what came from elsewhere than Debian", "items": {"type": "object",
      "required": ["name", "what", "version"], "additionalProperties": false, "properties": {"name": {"type": "string"},
        "what": {"type": "string"}, "version": {"type": "string"}}}},
    "missing": {"type": "array", "description": "what belongs into the image and is not there", "items": {"type": "object",
      "required": ["name", "what", "reason"], "additionalProperties": false, "properties": {"name": {"type": "string"},
        "what": {"type": "string"}, "reason": {"type": "string"}}}},
    "packages": {"type": "array", "description": "absent in lists", "items": {"type": "object", "required": ["name", "version"],
      "additionalProperties": false, "properties": {"name": {"type": "string"}, "version": {"type": "string"}}}}}},
"ImageList": {"type": "object", "required": ["items"], "additionalProperties": false,
  "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/Image"}}}},
"DefaultImage": {"type": "object", "required": ["image"], "additionalProperties": false,
  "properties": {"image": {"$ref": "#/components/schemas/Name", "description": "name or version"}}}
})";

constexpr char run_schemas[] = R"({
"RunStatus": {"enum": ["Starting", "Running", "Finished", "Error", "Terminated"]},
"Run": {"type": "object", "additionalProperties": false,
  "required": ["id", "namespace", "capsule", "status", "phase", "createdAt", "maxDuration", "accelerator", "transport", "startedBy"],
  "properties": {"id": {"$ref": "#/components/schemas/Id"}, "namespace": {"$ref": "#/components/schemas/Name"},
    "capsule": {"$ref": "#/components/schemas/Name"}, "status": {"$ref": "#/components/schemas/RunStatus"},
    "phase": {"enum": ["none", "booting", "mounting", "users", "packages", "startup", "ending"]},
    "failureDetails": {"type": "string"}, "createdAt": {"$ref": "#/components/schemas/Time"},
    "readyAt": {"$ref": "#/components/schemas/Time"}, "endedAt": {"$ref": "#/components/schemas/Time"},
    "maxDuration": {"$ref": "#/components/schemas/Duration"}, "accelerator": {"enum": ["", "tcg", "kvm"]},
    "transport": {"enum": ["", "serial", "vsock"]}, "startedBy": {"type": "string"},
    "image": {"type": "string", "description": "version of the image it has started from"}}},
"RunPage": {"type": "object", "required": ["items", "next"], "additionalProperties": false,
  "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/Run"}},
    "next": {"type": "string", "description": "empty: no more"}}},
"CommandStatus": {"enum": ["Queued", "Running", "Finished", "Error", "Aborted"]},
"Command": {"type": "object", "additionalProperties": false,
  "required": ["id", "runId", "sequence", "command", "arguments", "runAsUser", "async", "status", "createdAt"],
  "properties": {"id": {"$ref": "#/components/schemas/Id"}, "runId": {"$ref": "#/components/schemas/Id"},
    "sequence": {"type": "integer", "minimum": 1}, "command": {"type": "string"},
    "arguments": {"type": "array", "items": {"type": "string"}}, "runAsUser": {"type": "string"}, "async": {"type": "boolean"},
    "maxDuration": {"$ref": "#/components/schemas/Duration"}, "status": {"$ref": "#/components/schemas/CommandStatus"},
    "endReason": {"enum": ["exited", "signaled", "timedOut", "outOfMemory", "failedToStart", "killed", "canceled", "capsuleEnded"]},
    "reason": {"type": "string"}, "exitCode": {"type": "integer"},
    "outputStandard": {"type": "string", "description": "the last 65,536 characters; absent in lists"},
    "outputError": {"type": "string"},
    "outputStandardFullLength": {"type": "integer", "description": "in characters; only when there were more"},
    "outputErrorFullLength": {"type": "integer"}, "runTimeMs": {"type": "integer"}, "peakMemoryBytes": {"type": "integer"},
    "createdAt": {"$ref": "#/components/schemas/Time"}, "startedAt": {"$ref": "#/components/schemas/Time"},
    "endedAt": {"$ref": "#/components/schemas/Time"}}},
"CommandPage": {"type": "object", "required": ["items", "next"], "additionalProperties": false,
  "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/Command"}}, "next": {"type": "string"}}},
"CommandRequest": {"type": "object", "required": ["command"], "additionalProperties": false,
  "properties": {"command": {"type": "string", "minLength": 1}, "arguments": {"type": "array", "maxItems": 4096, "items": {"type": "string"}},
    "runAsUser": {"type": "string"}, "maxDuration": {"$ref": "#/components/schemas/DurationRequest"},
    "async": {"type": "boolean", "default": false},
    "environment": {"type": "object", "additionalProperties": {"type": "string"}}, "workingDirectory": {"type": "string"},
    "stdin": {"oneOf": [{"enum": ["none", "pipe"]}, {"type": "object", "required": ["text"], "additionalProperties": false,
      "properties": {"text": {"type": "string"}}}]},
    "holdOutput": {"type": "boolean", "default": false}, "terminal": {"$ref": "#/components/schemas/TerminalSize"}}},
"TerminalSize": {"type": "object", "required": ["rows", "columns"], "additionalProperties": false,
  "properties": {"rows": {"type": "integer", "minimum": 1, "maximum": 65535}, "columns": {"type": "integer", "minimum": 1, "maximum": 65535}}},
"KillRequest": {"type": "object", "additionalProperties": false,
  "properties": {"signal": {"type": "integer", "minimum": 1, "maximum": 64, "default": 9}}},
"Event": {"type": "object", "required": ["id", "type", "namespace", "at", "data"], "additionalProperties": false,
  "properties": {"id": {"type": "integer"}, "type": {"type": "string"}, "namespace": {"type": "string"},
    "at": {"$ref": "#/components/schemas/Time"}, "data": {"type": "object"}}}
})";

// Made from the table, so that no code can be missing here.
json::object problem_schema() {
    json::object schema =
        json::parse(R"({"type": "object", "required": ["type", "title", "status", "detail", "code"],
"properties": {"type": {"type": "string", "format": "uri"}, "title": {"type": "string"}, "status": {"type": "integer"},
  "detail": {"type": "string"}, "code": {"type": "string"},
  "errors": {"type": "array", "items": {"type": "object", "required": ["file", "line", "column", "name", "message"],
    "properties": {"file": {"type": "string"}, "line": {"type": "integer"}, "column": {"type": "integer"},
      "name": {"type": "string"}, "message": {"type": "string"}}}}}})")
            .as_object();
    json::array known;
    for (const ProblemCode& entry : problem_codes()) known.emplace_back(entry.code);
    schema["properties"].as_object()["code"].as_object()["examples"] = std::move(known);
    return schema;
}

}  // namespace

json::object openapi_schemas() {
    json::object schemas;
    for (const char* text : {basic_schemas, catalogue_schemas, image_schemas, run_schemas}) {
        const json::value part = json::parse(text);
        for (const auto& entry : part.as_object()) schemas[entry.key()] = entry.value();
    }
    schemas["Problem"] = problem_schema();
    return schemas;
}

}  // namespace host::api
