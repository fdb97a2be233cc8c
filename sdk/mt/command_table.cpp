#include "sdk/mt/command_table.hpp"

#include "sdk/mt/handlers.hpp"

#include <array>
#include <utility>

namespace mt {
namespace {

const Option if_missing{0, "if-missing", "", "succeed when it exists already"};

const std::vector<CommandSpec>& table() {
    static const std::vector<CommandSpec> commands{
        {.noun = "doctor",
         .verb = "",
         .positionals = {},
         .rest = "OPTION",
         .options = {},
         .summary = "say what this host can do, and what to do about what it cannot",
         .details =
             "Runs `capsuled doctor`, found next to mt, in PATH, /usr/sbin or "
             "/usr/libexec/capsuled. "
             "Needs no running daemon. What follows -- is handed to it, for example --images DIR.",
         .run = run_doctor},
        {.noun = "host",
         .verb = "",
         .positionals = {},
         .rest = "",
         .options = {},
         .summary = "show what the running daemon runs machines with, and its limits",
         .details = "",
         .run = show_host},

        {.noun = "namespace",
         .verb = "create",
         .positionals = {{"NAME"}},
         .rest = "",
         .options = {if_missing},
         .summary = "create a namespace",
         .details = "",
         .run = create_namespace},
        {.noun = "namespace",
         .verb = "list",
         .positionals = {},
         .rest = "",
         .options = {},
         .summary = "list namespaces",
         .details = "",
         .run = list_namespaces},
        {.noun = "namespace",
         .verb = "delete",
         .positionals = {{"NAME"}},
         .rest = "",
         .options = {},
         .summary = "delete an empty namespace",
         .details = "",
         .run = delete_namespace,
         .has_json = false},

        {.noun = "vfs",
         .verb = "create",
         .positionals = {{"NAME"}},
         .rest = "",
         .options = {if_missing},
         .summary = "create a file system",
         .details = "",
         .run = create_vfs,
         .has_namespace = true},
        {.noun = "vfs",
         .verb = "list",
         .positionals = {},
         .rest = "",
         .options = {},
         .summary = "list file systems",
         .details = "",
         .run = list_vfs,
         .has_namespace = true},
        {.noun = "vfs",
         .verb = "put",
         .positionals = {{"VFS"}, {"SOURCE"}, {"TARGET", false}},
         .rest = "",
         .options = {},
         .summary = "upload a file, a folder or standard input",
         .details = "SOURCE `-` is standard input and needs a TARGET. TARGET is a path in the file "
                    "system; by "
                    "default `/` and the name of SOURCE. A TARGET that ends in `/`, or is a folder "
                    "there, takes "
                    "SOURCE under its own name. A SOURCE that ends in `/` stands for what is in "
                    "the folder: "
                    "`mt vfs put sales-data data/ /` uploads the contents of data. Files are "
                    "replaced whole, "
                    "never half. Links and special files in a folder are left out and named.",
         .run = put_files,
         .has_namespace = true},
        {.noun = "vfs",
         .verb = "get",
         .positionals = {{"VFS"}, {"PATH"}, {"TARGET", false}},
         .rest = "",
         .options = {},
         .summary = "download a file or a folder",
         .details = "TARGET `-` is standard output; by default it is the last part of PATH. A "
                    "TARGET that ends "
                    "in `/` or is a folder takes PATH under its own name. A PATH that ends in `/` "
                    "stands for "
                    "what is in the folder. Links and special files are left out and named.",
         .run = get_files,
         .has_namespace = true},
        {.noun = "vfs",
         .verb = "ls",
         .positionals = {{"VFS"}, {"PATH", false}},
         .rest = "",
         .options = {{'l', "long", "", "show type, mode, size and time"}},
         .summary = "list files",
         .details = "",
         .run = list_files,
         .has_namespace = true},
        {.noun = "vfs",
         .verb = "rm",
         .positionals = {{"VFS"}, {"PATH"}},
         .rest = "",
         .options = {{'r', "recursive", "", "remove a folder and everything in it"}},
         .summary = "remove a file or a folder",
         .details = "",
         .run = remove_files,
         .has_json = false,
         .has_namespace = true},
        {.noun = "vfs",
         .verb = "delete",
         .positionals = {{"NAME"}},
         .rest = "",
         .options = {},
         .summary = "delete a file system and its files",
         .details = "Refused while a capsule has it mounted.",
         .run = delete_vfs,
         .has_json = false,
         .has_namespace = true},

        {.noun = "secret",
         .verb = "set",
         .positionals = {{"NAME"}},
         .rest = "",
         .options = {{0, "file", "FILE", "read the value from FILE"}},
         .summary = "store a secret's value",
         .details = "The value is read from standard input, byte for byte (a newline at its end "
                    "belongs to it), "
                    "or from FILE; on a terminal one line is asked for without being shown. A "
                    "value is never "
                    "taken from the command line, which other users can see.",
         .run = set_secret,
         .has_json = false,
         .has_namespace = true},
        {.noun = "secret",
         .verb = "list",
         .positionals = {},
         .rest = "",
         .options = {},
         .summary = "list the names of secrets",
         .details = "",
         .run = list_secrets,
         .has_namespace = true},
        {.noun = "secret",
         .verb = "delete",
         .positionals = {{"NAME"}},
         .rest = "",
         .options = {},
         .summary = "delete a secret",
         .details = "",
         .run = delete_secret,
         .has_json = false,
         .has_namespace = true},

        {.noun = "deploy",
         .verb = "",
         .positionals = {{"FOLDER"}},
         .rest = "",
         .options = {},
         .summary = "deploy the definitions of a folder",
         .details = "Sends FOLDER/capsules/*.mtr, all of which change together or not at all; "
                    "nothing is ever "
                    "deleted. Definitions of kinds that are not supported are named as skipped. "
                    "Mistakes are "
                    "printed as file:line:column: message, and the exit code is 2.",
         .run = run_deploy,
         .has_namespace = true},

        {.noun = "capsule",
         .verb = "list",
         .positionals = {},
         .rest = "",
         .options = {},
         .summary = "list deployed capsules",
         .details = "",
         .run = list_capsules,
         .has_namespace = true},
        {.noun = "capsule",
         .verb = "show",
         .positionals = {{"NAME"}},
         .rest = "",
         .options = {},
         .summary = "show a capsule's definition",
         .details = "",
         .run = show_capsule,
         .has_namespace = true},
        {.noun = "capsule",
         .verb = "run",
         .positionals = {{"NAME"}},
         .rest = "",
         .options = {},
         .summary = "start a capsule and wait for its end",
         .details = "Prints `Capsule finished: STATUS`; exits with 0 if that is Finished and "
                    "otherwise with 1, "
                    "after saying why. Ctrl-C stops the run.",
         .run = run_capsule,
         .has_namespace = true},
        {.noun = "capsule",
         .verb = "start",
         .positionals = {{"NAME"}},
         .rest = "",
         .options = {{'w', "wait", "", "return when it is ready for commands"}},
         .summary = "start a capsule",
         .details = "Prints the id of the run alone on the last line. Commands can be sent at "
                    "once: they run "
                    "when it is ready.",
         .run = start_capsule,
         .has_namespace = true},
        {.noun = "capsule",
         .verb = "delete",
         .positionals = {{"NAME"}},
         .rest = "",
         .options = {},
         .summary = "delete a definition; its runs go on",
         .details = "",
         .run = delete_capsule,
         .has_json = false,
         .has_namespace = true},

        {.noun = "image",
         .verb = "list",
         .positionals = {},
         .rest = "",
         .options = {},
         .summary = "list the images that capsules can start from",
         .details = "IMAGE in other commands and in definitions is a name, which stands for its "
                    "current version, or a version. The default is what capsules get that name "
                    "none, where their namespace does not either.",
         .run = list_images},
        {.noun = "image",
         .verb = "show",
         .positionals = {{"IMAGE"}},
         .rest = "",
         .options = {{'p', "packages", "", "list the Debian packages in it"}},
         .summary = "show an image, and what is missing in it",
         .details = "",
         .run = show_image},
        {.noun = "image",
         .verb = "build",
         .positionals = {{"PROFILE"}},
         .rest = "OPTION",
         .options = {{0, "refresh", "",
                      "ask the mirror for newer packages; rebuild if there are any"}},
         .summary = "build an image, if what it is made from has changed",
         .details = "PROFILE is full, base, another folder of images/profiles, or one of kernel, "
                    "initrd and all (kernel, initrd and base). Runs images/build.sh, of the source "
                    "tree that mt was built in or in /usr/share/capsule-host, as root, on this "
                    "machine; needs no running daemon. What follows -- is handed to it, for "
                    "example --store DIR or --source dotnet=ADDRESS#sha512=HEX.",
         .run = build_image,
         .has_json = false},
        {.noun = "image",
         .verb = "use",
         .positionals = {{"IMAGE", false}},
         .rest = "",
         .options = {{0, "reset", "", "the host's default again"}},
         .summary = "choose the image of the namespace's capsules that name none",
         .details = "Without IMAGE and --reset it says what is chosen. Live runs keep theirs.",
         .run = use_image,
         .has_namespace = true},
        {.noun = "image",
         .verb = "delete",
         .positionals = {{"IMAGE"}},
         .rest = "",
         .options = {},
         .summary = "delete a version of an image that nothing needs",
         .details = "Refused while a live run or the default of a namespace needs it. If it is the "
                    "current version, the name then stands for the newest one that is left.",
         .run = delete_image},

        {.noun = "runs",
         .verb = "list",
         .positionals = {},
         .rest = "",
         .options = {{'a', "all", "", "runs of every namespace"},
                     {0, "live", "", "only runs that have not ended"},
                     {0, "status", "STATUS",
                      "only Starting, Running, Finished, Error or Terminated"},
                     {0, "limit", "N", "the newest N (default 50)"}},
         .summary = "list runs, newest first",
         .details = "",
         .run = list_runs,
         .has_namespace = true},
        {.noun = "runs",
         .verb = "show",
         .positionals = {{"RUN"}},
         .rest = "",
         .options = {},
         .summary = "show a run",
         .details = "",
         .run = show_run},
        {.noun = "runs",
         .verb = "stop",
         .positionals = {{"RUN"}},
         .rest = "",
         .options = {},
         .summary = "stop a run; returns when it has ended",
         .details = "Stopping twice is not an error.",
         .run = stop_run},
        {.noun = "runs",
         .verb = "logs",
         .positionals = {{"RUN"}},
         .rest = "",
         .options = {},
         .summary = "print the machine's console",
         .details = "",
         .run = show_console,
         .has_json = false},
        {.noun = "runs",
         .verb = "ping",
         .positionals = {{"RUN"}},
         .rest = "",
         .options = {{'c', "count", "N", "measure N times (default 1)"}},
         .summary = "measure a round trip from the daemon to the run's machine",
         .details = "In microseconds, without the way from mt to the daemon; with --count also "
                    "their median.",
         .run = ping_run},

        {.noun = "exec",
         .verb = "",
         .positionals = {{"RUN"}},
         .rest = "COMMAND",
         .options = {{'u', "user", "USER", "run as USER (default maitento)"},
                     {0, "timeout", "HH:MM:SS", "end it and everything it started after this time"},
                     {0, "async", "",
                      "let the run's next command start without waiting for this one"},
                     {'d', "detach", "", "print the command's id and do not wait for it"},
                     {'e', "env", "NAME=VALUE", "set a variable", true},
                     {'w', "workdir", "FOLDER", "start in FOLDER (default: the user's home)"},
                     {'i', "interactive", "", "send standard input"},
                     {'t', "tty", "", "give it a terminal (always async)"}},
         .summary = "run a command in a run, with its output as it happens",
         .details = "COMMAND is shell text and each word after it reaches the program as exactly "
                    "one argument. "
                    "Exits with the command's exit code; with 125 when mt itself fails or the run "
                    "ends before "
                    "the command does. The first Ctrl-C is sent to the command, the second leaves "
                    "it running. "
                    "A daemon that restarts is waited for, 30 seconds at most, and the output goes "
                    "on where it "
                    "stopped. With -it the terminal is the command's; closing it sends SIGHUP.",
         .run = run_exec,
         .failure_code = exit_own_failure},
        {.noun = "commands",
         .verb = "list",
         .positionals = {{"RUN"}},
         .rest = "",
         .options = {},
         .summary = "list the commands of a run",
         .details = "",
         .run = list_commands},
        {.noun = "commands",
         .verb = "show",
         .positionals = {{"RUN"}, {"COMMAND"}},
         .rest = "",
         .options = {},
         .summary = "show a command with its outputs",
         .details = "",
         .run = show_command},
        {.noun = "commands",
         .verb = "kill",
         .positionals = {{"RUN"}, {"COMMAND"}},
         .rest = "",
         .options = {{'s', "signal", "SIGNAL", "number or name (default KILL: the whole tree)"}},
         .summary = "send a signal to a command",
         .details = "A command still queued is canceled.",
         .run = kill_command},

        {.noun = "events",
         .verb = "",
         .positionals = {},
         .rest = "",
         .options = {{0, "after", "ID", "begin after this event instead of now"}},
         .summary = "print events as they happen",
         .details = "With --json one object a line.",
         .run = run_events},

        {.noun = "key",
         .verb = "create",
         .positionals = {{"LABEL"}},
         .rest = "",
         .options = {{0, "for", "NAMESPACE", "limit the key to this namespace", true}},
         .summary = "create a bearer key",
         .details = "The key is shown this once.",
         .run = create_key},
        {.noun = "key",
         .verb = "list",
         .positionals = {},
         .rest = "",
         .options = {},
         .summary = "list bearer keys",
         .details = "",
         .run = list_keys},
        {.noun = "key",
         .verb = "delete",
         .positionals = {{"ID"}},
         .rest = "",
         .options = {},
         .summary = "delete a bearer key",
         .details = "",
         .run = delete_key,
         .has_json = false},

        {.noun = "version",
         .verb = "",
         .positionals = {},
         .rest = "",
         .options = {},
         .summary = "print the versions of mt and of the daemon",
         .details = "",
         .run = run_version},
        {.noun = "help",
         .verb = "",
         .positionals = {{"NOUN", false}, {"VERB", false}},
         .rest = "",
         .options = {{0, "markdown", "", "everything as one Markdown page"}},
         .summary = "explain mt or one of its commands",
         .details = "",
         .run = run_help,
         .has_json = false},
    };
    return commands;
}

constexpr std::array<Option, 3> common{{
    {0, "json", "", "print the answer as JSON"},
    {'n', "namespace", "NAMESPACE",
     "work in this namespace (default: MAITENTO_NAMESPACE, or default)"},
    {'h', "help", "", "explain this command"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> nouns{{
    {"namespace", "scopes in which names are unique"},
    {"vfs", "file systems kept on the host and mounted in capsules"},
    {"secret", "values kept encrypted on the host"},
    {"capsule", "recipes for throwaway machines"},
    {"image", "disks that capsules start from"},
    {"runs", "started capsules"},
    {"commands", "what is executed in a run"},
    {"key", "bearer keys for the API over TCP"},
}};

}  // namespace

std::span<const CommandSpec> command_table() {
    return table();
}
std::span<const Option> common_options() {
    return common;
}

std::string_view noun_summary(std::string_view noun) {
    for (const auto& [name, summary] : nouns) {
        if (name == noun) return summary;
    }
    return {};
}

}  // namespace mt
