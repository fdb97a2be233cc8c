#pragma once
// The functions behind the command table, one a command. Each prints its answer and returns the
// exit code, or the failure that main() reports.

#include "sdk/mt/command_table.hpp"

namespace mt {

Result<int> run_doctor(Context& context);
Result<int> show_host(Context& context);
Result<int> run_help(Context& context);
Result<int> run_version(Context& context);
Result<int> run_events(Context& context);

Result<int> create_namespace(Context& context);
Result<int> list_namespaces(Context& context);
Result<int> delete_namespace(Context& context);

Result<int> create_vfs(Context& context);
Result<int> list_vfs(Context& context);
Result<int> delete_vfs(Context& context);
Result<int> put_files(Context& context);
Result<int> get_files(Context& context);
Result<int> list_files(Context& context);
Result<int> remove_files(Context& context);

Result<int> set_secret(Context& context);
Result<int> list_secrets(Context& context);
Result<int> delete_secret(Context& context);

Result<int> list_images(Context& context);
Result<int> show_image(Context& context);
Result<int> build_image(Context& context);
Result<int> use_image(Context& context);
Result<int> delete_image(Context& context);

Result<int> run_deploy(Context& context);

Result<int> list_capsules(Context& context);
Result<int> show_capsule(Context& context);
Result<int> run_capsule(Context& context);
Result<int> start_capsule(Context& context);
Result<int> delete_capsule(Context& context);

Result<int> list_runs(Context& context);
Result<int> show_run(Context& context);
Result<int> stop_run(Context& context);
Result<int> show_console(Context& context);
Result<int> ping_run(Context& context);

Result<int> run_exec(Context& context);
Result<int> list_commands(Context& context);
Result<int> show_command(Context& context);
Result<int> kill_command(Context& context);

Result<int> create_key(Context& context);
Result<int> list_keys(Context& context);
Result<int> delete_key(Context& context);

}  // namespace mt
