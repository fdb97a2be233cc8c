#include "host/api/routes.hpp"

#include "host/api/handlers.hpp"

namespace host::api {

namespace {

using enum Method;
using In = Parameter::In;

constexpr Body no_body{};
constexpr Body json_body(std::string_view schema) {
    return {Body::Kind::json, schema, true};
}
constexpr Body optional_body(std::string_view schema) {
    return {Body::Kind::json, schema, false};
}
constexpr Body raw_body{Body::Kind::raw, "", true};

const Parameter page_limit{"limit", "PageLimit", "How many at most"};
const Parameter page_after{"after", "Cursor", "`next` of the page before"};
const Parameter wait_time{"wait", "Wait",
                          "Answer when it has happened, at the latest after this time"};
const Parameter idempotency_key{"Idempotency-Key", "IdempotencyKey",
                                "The same key gives the same thing again", In::header};

void add_daemon(std::vector<Route>& routes) {
    routes.push_back({get,
                      "/health",
                      "getHealth",
                      "Is the daemon alive",
                      get_health,
                      {},
                      no_body,
                      {{200, "It is", "Health"}},
                      {},
                      Route::Key::open});
    routes.push_back({get,
                      "/openapi.json",
                      "getOpenApi",
                      "This document",
                      get_openapi,
                      {},
                      no_body,
                      {{200, "OpenAPI 3.1", "Document"}}});
    routes.push_back({get,
                      "/v1/host",
                      "getHost",
                      "What this host runs machines with",
                      get_host,
                      {},
                      no_body,
                      {{200, "Accelerator and why, transport, image, limits, versions", "Host"}}});
    routes.push_back({get,
                      "/v1/keys",
                      "listKeys",
                      "List bearer keys",
                      list_keys,
                      {},
                      no_body,
                      {{200, "All keys, without the keys themselves", "KeyList"}},
                      {"forbidden"}});
    routes.push_back({post,
                      "/v1/keys",
                      "createKey",
                      "Make a bearer key",
                      create_key,
                      {},
                      json_body("KeyRequest"),
                      {{201, "The key, shown this once", "NewKey"}},
                      {"forbidden", "not-found"}});
    routes.push_back({remove,
                      "/v1/keys/{id}",
                      "deleteKey",
                      "Delete a bearer key",
                      delete_key,
                      {},
                      no_body,
                      {{204, "Deleted"}},
                      {"forbidden", "not-found"}});
}

void add_catalogue(std::vector<Route>& routes) {
    routes.push_back({get,
                      "/v1/namespaces",
                      "listNamespaces",
                      "List namespaces",
                      list_namespaces,
                      {},
                      no_body,
                      {{200, "All that may be seen", "NamespaceList"}}});
    routes.push_back({post,
                      "/v1/namespaces",
                      "createNamespace",
                      "Create a namespace",
                      create_namespace,
                      {},
                      json_body("NameRequest"),
                      {{201, "Created", "Namespace"}},
                      {"invalid-name", "already-exists", "forbidden"}});
    routes.push_back({remove,
                      "/v1/namespaces/{ns}",
                      "deleteNamespace",
                      "Delete an empty namespace",
                      delete_namespace,
                      {},
                      no_body,
                      {{204, "Deleted"}},
                      {"invalid-name", "not-found", "not-empty", "forbidden"}});

    routes.push_back({get,
                      "/v1/namespaces/{ns}/vfs",
                      "listVfs",
                      "List file systems",
                      list_vfs,
                      {},
                      no_body,
                      {{200, "All of the namespace", "VfsList"}},
                      {"invalid-name", "not-found"}});
    routes.push_back({post,
                      "/v1/namespaces/{ns}/vfs",
                      "createVfs",
                      "Create a file system",
                      create_vfs,
                      {},
                      json_body("NameRequest"),
                      {{201, "Created", "Vfs"}},
                      {"invalid-name", "not-found", "already-exists", "disk-full", "io"}});
    routes.push_back({get,
                      "/v1/namespaces/{ns}/vfs/{vfs}",
                      "getVfs",
                      "Show a file system",
                      get_vfs,
                      {},
                      no_body,
                      {{200, "The file system", "Vfs"}},
                      {"invalid-name", "not-found"}});
    routes.push_back({remove,
                      "/v1/namespaces/{ns}/vfs/{vfs}",
                      "deleteVfs",
                      "Delete a file system with its files",
                      delete_vfs,
                      {},
                      no_body,
                      {{204, "Deleted"}},
                      {"invalid-name", "not-found", "in-use", "io"}});

    routes.push_back({get,
                      "/v1/namespaces/{ns}/secrets",
                      "listSecrets",
                      "List the names of secrets",
                      list_secrets,
                      {},
                      no_body,
                      {{200, "Names; never values", "SecretList"}},
                      {"invalid-name", "not-found"}});
    routes.push_back({put,
                      "/v1/namespaces/{ns}/secrets/{name}",
                      "putSecret",
                      "Set a secret to exactly the body's bytes",
                      put_secret,
                      {},
                      raw_body,
                      {{204, "Set"}},
                      {"invalid-name", "not-found", "too-large"}});
    routes.push_back({remove,
                      "/v1/namespaces/{ns}/secrets/{name}",
                      "deleteSecret",
                      "Delete a secret",
                      delete_secret,
                      {},
                      no_body,
                      {{204, "Deleted"}},
                      {"invalid-name", "not-found", "in-use"}});

    routes.push_back({post,
                      "/v1/namespaces/{ns}/deploy",
                      "deploy",
                      "Check definitions and store all or none",
                      deploy,
                      {},
                      json_body("DeployRequest"),
                      {{200, "What changed", "DeployReport"}},
                      {"invalid-name", "definition-invalid", "not-found", "too-large"}});
    routes.push_back({get,
                      "/v1/namespaces/{ns}/capsules",
                      "listCapsules",
                      "List capsules",
                      list_capsules,
                      {},
                      no_body,
                      {{200, "All of the namespace", "CapsuleList"}},
                      {"invalid-name", "not-found"}});
    routes.push_back({get,
                      "/v1/namespaces/{ns}/capsules/{name}",
                      "getCapsule",
                      "Show a capsule",
                      get_capsule,
                      {},
                      no_body,
                      {{200, "With definition and source", "Capsule"}},
                      {"invalid-name", "not-found"}});
    routes.push_back({remove,
                      "/v1/namespaces/{ns}/capsules/{name}",
                      "deleteCapsule",
                      "Delete a capsule; its runs go on",
                      delete_capsule,
                      {},
                      no_body,
                      {{204, "Deleted"}},
                      {"invalid-name", "not-found"}});
}

void add_images(std::vector<Route>& routes) {
    routes.push_back({get,
                      "/v1/images",
                      "listImages",
                      "List what capsules can start from",
                      list_images,
                      {},
                      no_body,
                      {{200, "Every version of every image, without packages", "ImageList"}},
                      {"io"}});
    routes.push_back({get,
                      "/v1/images/{image}",
                      "getImage",
                      "Show an image",
                      get_image,
                      {},
                      no_body,
                      {{200, "With its packages and what is missing", "Image"}},
                      {"invalid-name", "not-found", "conflict", "unsupported", "io"}});
    routes.push_back({remove,
                      "/v1/images/{image}",
                      "deleteImage",
                      "Delete a version of an image that nothing needs",
                      delete_image,
                      {},
                      no_body,
                      {{200, "The version that was deleted", "Image"}},
                      {"invalid-name", "not-found", "in-use", "forbidden", "io"}});
    routes.push_back({put,
                      "/v1/namespaces/{ns}/image",
                      "putDefaultImage",
                      "Choose the image of the namespace's capsules that name none",
                      put_default_image,
                      {},
                      json_body("DefaultImage"),
                      {{200, "The namespace", "Namespace"}},
                      {"invalid-name", "not-found", "conflict", "unsupported", "io"}});
    routes.push_back({remove,
                      "/v1/namespaces/{ns}/image",
                      "deleteDefaultImage",
                      "Let the namespace's capsules use the host's image again",
                      delete_default_image,
                      {},
                      no_body,
                      {{200, "The namespace", "Namespace"}},
                      {"invalid-name", "not-found"}});
}

void add_files(std::vector<Route>& routes) {
    constexpr std::string_view path = "/v1/namespaces/{ns}/vfs/{vfs}/files/{path}";
    routes.push_back(
        {get,
         path,
         "getFile",
         "Content of a file, or listing of a folder",
         get_file,
         {{"stat", "Flag", "Only the entry"}, {"Range", "Text", "One range of bytes", In::header}},
         no_body,
         {{200, "Bytes of a file; of a folder its listing, with `stat` the entry", "FileListing",
           "application/octet-stream"},
          {206, "The range asked for", "", "application/octet-stream"}},
         {"invalid-name", "not-found", "is-a-link", "range-not-satisfiable", "io"}});
    routes.push_back(
        {put,
         path,
         "putFile",
         "Write a file, atomically; parent folders are made",
         put_file,
         {},
         raw_body,
         {{201, "Made"}, {204, "Replaced"}},
         {"invalid-name", "not-found", "is-a-link", "is-a-folder", "disk-full", "io"}});
    routes.push_back({post,
                      path,
                      "changeFile",
                      "Make a folder, or move",
                      post_file,
                      {},
                      json_body("FileOperation"),
                      {{201, "The folder is there"}, {204, "Moved"}},
                      {"invalid-name", "not-found", "already-exists", "is-a-link", "not-a-folder",
                       "disk-full", "io"}});
    routes.push_back({remove,
                      path,
                      "deleteFile",
                      "Delete a file or folder",
                      delete_file,
                      {{"recursive", "Flag", "Also a folder that is not empty"}},
                      no_body,
                      {{204, "Deleted"}},
                      {"invalid-name", "not-found", "not-empty", "io"}});
}

void add_runs(std::vector<Route>& routes) {
    routes.push_back({post,
                      "/v1/namespaces/{ns}/capsules/{name}/runs",
                      "startRun",
                      "Start a capsule",
                      start_run,
                      {idempotency_key},
                      optional_body("Empty"),
                      {{201, "Starting", "Run"}},
                      {"invalid-name", "not-found", "idempotency-mismatch", "no-room",
                       "image-missing", "hypervisor-unavailable"}});
    routes.push_back({get,
                      "/v1/runs",
                      "listRuns",
                      "List runs, newest first",
                      list_runs,
                      {{"namespace", "Name", "Only of this namespace"},
                       {"status", "RunStatus", "Only with this status"},
                       {"live", "Flag", "Only those that have not ended"},
                       page_limit,
                       page_after},
                      no_body,
                      {{200, "A page", "RunPage"}},
                      {"invalid-name"}});
    routes.push_back({get,
                      "/v1/runs/{run}",
                      "getRun",
                      "Show a run, or wait for it",
                      get_run,
                      {wait_time, {"until", "Until", "What to wait for"}},
                      no_body,
                      {{200, "The run", "Run"}},
                      {"not-found", "too-many-waiting"}});
    routes.push_back({post,
                      "/v1/runs/{run}/terminate",
                      "terminateRun",
                      "Stop a run; answers once it has ended",
                      terminate_run,
                      {},
                      optional_body("Empty"),
                      {{200, "The run", "Run"}},
                      {"not-found"}});
    routes.push_back({get,
                      "/v1/runs/{run}/console",
                      "getConsole",
                      "What the machine's console printed",
                      get_console,
                      {},
                      no_body,
                      {{200, "Text", "", "text/plain"}},
                      {"not-found", "run-ended", "io"}});
    routes.push_back({get,
                      "/v1/runs/{run}/ping",
                      "pingRun",
                      "Measure a round trip to the machine's agent",
                      ping_run,
                      {},
                      no_body,
                      {{200, "The agent has answered", "Ping"}},
                      {"not-found", "run-ended", "guest-unavailable", "timed-out"}});
}

void add_commands(std::vector<Route>& routes) {
    routes.push_back({post,
                      "/v1/runs/{run}/commands",
                      "sendCommand",
                      "Send a command",
                      send_command,
                      {idempotency_key},
                      json_body("CommandRequest"),
                      {{201, "Queued", "Command"}},
                      {"not-found", "run-ended", "idempotency-mismatch", "no-room", "too-large"}});
    routes.push_back({get,
                      "/v1/runs/{run}/commands",
                      "listCommands",
                      "List commands, newest first",
                      list_commands,
                      {page_limit, page_after},
                      no_body,
                      {{200, "A page, without outputs", "CommandPage"}},
                      {"not-found"}});
    routes.push_back({get,
                      "/v1/runs/{run}/commands/{command}",
                      "getCommand",
                      "Show a command, or wait until it has ended",
                      get_command,
                      {wait_time},
                      no_body,
                      {{200, "The command", "Command"}},
                      {"not-found", "too-many-waiting"}});
    routes.push_back({post,
                      "/v1/runs/{run}/commands/{command}/kill",
                      "killCommand",
                      "Send a signal; 9 ends the whole tree",
                      kill_command,
                      {},
                      optional_body("KillRequest"),
                      {{200, "The command", "Command"}},
                      {"not-found", "command-ended", "guest-unavailable"}});
    routes.push_back(
        {get,
         "/v1/runs/{run}/commands/{command}/output",
         "followOutput",
         "Output as it comes",
         follow_output,
         {{"outputFrom", "Count", "Offset in the standard output"},
          {"errorFrom", "Count", "Offset in the error output"},
          {"lossless", "Flag", "Rather hold the command back, at most 30 s, than lose bytes"}},
         no_body,
         {{200, "Records until the command and its output have ended", "",
           "application/vnd.capsule.output"}},
         {"not-found", "command-ended", "guest-unavailable"}});
    routes.push_back({post,
                      "/v1/runs/{run}/commands/{command}/input",
                      "sendInput",
                      "Bytes for standard input",
                      put_input,
                      {{"from", "Count", "Offset of the body's first byte"},
                       {"close", "Flag", "End of file after the body"}},
                      raw_body,
                      {{204, "Taken"}},
                      {"not-found", "command-ended", "conflict", "guest-unavailable"}});
    routes.push_back({post,
                      "/v1/runs/{run}/commands/{command}/resize",
                      "resizeTerminal",
                      "Set the terminal's size",
                      resize_command,
                      {},
                      json_body("TerminalSize"),
                      {{204, "Set"}},
                      {"not-found", "command-ended", "conflict", "guest-unavailable"}});
    routes.push_back({get,
                      "/v1/runs/{run}/commands/{command}/terminal",
                      "openTerminal",
                      "The terminal, as a WebSocket",
                      open_terminal,
                      {{"outputFrom", "Count", "Offset in the output"},
                       {"inputFrom", "Count", "Offset of the first byte sent"}},
                      no_body,
                      {{101, "The connection is a WebSocket now"}},
                      {"not-found", "command-ended", "upgrade-required", "guest-unavailable"}});
    routes.push_back({get,
                      "/v1/events",
                      "followEvents",
                      "Events as they happen",
                      follow_events,
                      {{"after", "Count", "Begin after the event with this id"},
                       {"Last-Event-ID", "Count", "The same", In::header}},
                      no_body,
                      {{200, "Server-sent events", "", "text/event-stream"}},
                      {"too-many-waiting"}});
}

}  // namespace

std::vector<Route> all_routes() {
    std::vector<Route> routes;
    add_daemon(routes);
    add_catalogue(routes);
    add_images(routes);
    add_files(routes);
    add_runs(routes);
    add_commands(routes);
    return routes;
}

}  // namespace host::api
