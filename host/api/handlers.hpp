#pragma once
// The handlers of all routes, by the file that has them. Each answers one request; failures become
// problems. routes.cpp puts them in their places.

#include "host/api/response.hpp"
#include "host/sandbox/guest.hpp"

namespace host::api {

class Exchange;
using Answering = sandbox::Async<Response>;

// host_handlers.cpp
Answering get_health(Exchange& exchange);
Answering get_openapi(Exchange& exchange);
Answering get_host(Exchange& exchange);
Answering list_keys(Exchange& exchange);
Answering create_key(Exchange& exchange);
Answering delete_key(Exchange& exchange);

// catalogue_handlers.cpp
Answering list_namespaces(Exchange& exchange);
Answering create_namespace(Exchange& exchange);
Answering delete_namespace(Exchange& exchange);
Answering list_vfs(Exchange& exchange);
Answering create_vfs(Exchange& exchange);
Answering get_vfs(Exchange& exchange);
Answering delete_vfs(Exchange& exchange);
Answering list_secrets(Exchange& exchange);
Answering put_secret(Exchange& exchange);
Answering delete_secret(Exchange& exchange);
Answering deploy(Exchange& exchange);
Answering list_capsules(Exchange& exchange);
Answering get_capsule(Exchange& exchange);
Answering delete_capsule(Exchange& exchange);

// image_handlers.cpp
Answering list_images(Exchange& exchange);
Answering get_image(Exchange& exchange);
Answering delete_image(Exchange& exchange);
Answering put_default_image(Exchange& exchange);
Answering delete_default_image(Exchange& exchange);

// file_handlers.cpp
Answering get_file(Exchange& exchange);
Answering put_file(Exchange& exchange);
Answering post_file(Exchange& exchange);
Answering delete_file(Exchange& exchange);

// run_handlers.cpp
Answering start_run(Exchange& exchange);
Answering list_runs(Exchange& exchange);
Answering get_run(Exchange& exchange);
Answering terminate_run(Exchange& exchange);
Answering get_console(Exchange& exchange);
Answering ping_run(Exchange& exchange);

// command_handlers.cpp
Answering send_command(Exchange& exchange);
Answering list_commands(Exchange& exchange);
Answering get_command(Exchange& exchange);
Answering kill_command(Exchange& exchange);
Answering resize_command(Exchange& exchange);
Answering put_input(Exchange& exchange);

// output_handler.cpp, terminal_handler.cpp, event_handler.cpp
Answering follow_output(Exchange& exchange);
Answering open_terminal(Exchange& exchange);
Answering follow_events(Exchange& exchange);

}  // namespace host::api
