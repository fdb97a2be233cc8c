#pragma once
// The JSON payloads of control frames, as plain structs listed with BOOST_DESCRIBE. Decoding is
// tolerant (json_codec.hpp): unknown members are ignored, absent optionals are empty, absent
// required members and values out of range are failures that carry a path. Strings are UTF-8.
// The frozen surface is protocol/schema/generation-1.json, compared by a test.
//
// Order inside a command's stream:  open command.start -> event started -> event exited -> end.
// `end` comes when both outputs have reached end-of-file, i.e. when no late output is possible.

#include "protocol/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe.hpp>

namespace protocol {

inline constexpr int generation = 1;

struct HelloLimits {
    HelloLimits() = default;
    std::uint32_t control_payload_bytes{}, data_payload_bytes{}, window_bytes{};
    // Guest: the largest CommandFollow::window.
    std::optional<std::uint32_t> follow_window_bytes;
};
BOOST_DESCRIBE_STRUCT(HelloLimits, (),
                      (control_payload_bytes, data_payload_bytes, window_bytes,
                       follow_window_bytes))

// First control frame of each side. generation = min(max, max), refused if below either min.
struct Hello {
    Hello() = default;
    int generation_min = generation, generation_max = generation;
    std::vector<std::string> features;
    std::string software;  // "capsule-agent 0.1.0"
    std::optional<std::string>
        boot_id;  // guest: random per agent start; a new one: everything is gone
    HelloLimits limits;
};
BOOST_DESCRIBE_STRUCT(Hello, (),
                      (generation_min, generation_max, features, software, boot_id, limits))

// The generation both sides speak; unsupported when there is none.
Result<int> agree_on_generation(const Hello& mine, const Hello& peer);

// ---- host -> guest requests (payload of `open`; member `operation` names the struct)
// -------------

struct EnvironmentEntry {
    EnvironmentEntry() = default;
    std::string name, value;
};
BOOST_DESCRIBE_STRUCT(EnvironmentEntry, (), (name, value))

struct TerminalSize {
    TerminalSize() = default;
    std::uint16_t rows = 24, columns = 80;
};
BOOST_DESCRIBE_STRUCT(TerminalSize, (), (rows, columns))

// operation "command.start". A known id attaches to that command instead of starting it again, so a
// retry after a lost connection is safe. Exactly one of shell / program is set.
struct CommandStart {
    CommandStart() = default;
    std::string id;
    // Shell text for the user's login shell: run as  SHELL -c TEXT -SHELLNAME ARG...  with the
    // environment of a login, but without reading profile files. ` "$@"` is appended to the text's
    // last line when there are arguments (the *host* prepares nothing; the agent does it, see
    // protocol/text/shell_text.hpp).
    std::optional<std::string> shell;
    // Exact program (looked up in PATH) for the host's own steps: users, packages.
    std::optional<std::string> program;
    std::vector<std::string> arguments;
    std::string user;
    std::optional<std::string> working_directory;  // default: the user's home
    std::vector<EnvironmentEntry> environment;     // on top of the login environment
    std::optional<std::uint64_t> limit_ms;         // from the command's own start
    bool input = false;                    // false: /dev/null; true: a pipe, see command.input
    std::optional<TerminalSize> terminal;  // a pty instead of pipes; implies input
    // Behave as if a lossless follower at offset 0 were attached, until one is or lossless_hold is
    // over.
    bool hold_output = false;
};
BOOST_DESCRIBE_STRUCT(CommandStart, (),
                      (id, shell, program, arguments, user, working_directory, environment,
                       limit_ms, input, terminal, hold_output))

// operation "command.state" -> end CommandReport; not_found when the agent has no such command.
// operation "command.forget": the host has committed the result -> end Done.
struct CommandReference {
    CommandReference() = default;
    std::string id;
};
BOOST_DESCRIBE_STRUCT(CommandReference, (), (id))

// operation "command.follow": raw output as data on channels output/error from the given offsets.
// Event `gap` when bytes are no longer there; event `exited` once all bytes read before the exit
// have been sent; half-close per channel at end-of-file; `end` Done after both. With a terminal
// everything is on `output`.
struct CommandFollow {
    CommandFollow() = default;
    std::string id;
    std::uint64_t output_from = 0, error_from = 0;
    // Hold the command back (at most lossless_hold without progress) rather than lose bytes.
    bool lossless = false;
    // The first and largest allowance of both outputs: window_bytes to what the agent's hello says.
    std::optional<std::uint32_t> window;
};
BOOST_DESCRIBE_STRUCT(CommandFollow, (), (id, output_from, error_from, lossless, window))

// operation "command.input": data on channel input; `from` = absolute offset of the first byte (the
// agent skips what it already has). Half-close = end-of-file. Event `taken`{offset} at once after
// open.
struct CommandInput {
    CommandInput() = default;
    std::string id;
    std::uint64_t from = 0;
};
BOOST_DESCRIBE_STRUCT(CommandInput, (), (id, from))

// operation "command.signal": number 9 with tree = true is cgroup.kill. `reason` says how the
// report shall name it.
struct CommandSignal {
    CommandSignal() = default;
    std::string id;
    std::int32_t number{};
    bool tree = false;
};
BOOST_DESCRIBE_STRUCT(CommandSignal, (), (id, number, tree))

struct CommandResize {  // operation "command.resize"
    CommandResize() = default;
    std::string id;
    TerminalSize size;
};
BOOST_DESCRIBE_STRUCT(CommandResize, (), (id, size))

// operation "machine.configure": once after boot, again after a restore.
struct MachineConfigure {
    MachineConfigure() = default;
    std::string hostname;
    std::optional<std::int64_t> clock_unix_ns;
    std::uint64_t deadline_ms{};          // from now: then stop commands, sync, unmount and wait
    std::uint64_t commands_memory_max{};  // bytes for commands/; 0: total less a reserve
    std::uint32_t commands_pids_max = 4096;
    std::vector<EnvironmentEntry> environment;  // for every command (definition's `environment`)
    std::string proxy;                   // "" or "127.0.0.1:3128": whether the egress port listens
    std::string run_id, namespace_name;  // for the `mt` inside; empty: no sign-in socket
};
BOOST_DESCRIBE_STRUCT(MachineConfigure, (),
                      (hostname, clock_unix_ns, deadline_ms, commands_memory_max, commands_pids_max,
                       environment, proxy, run_id, namespace_name))

struct ClockSet {  // operation "machine.clock"
    ClockSet() = default;
    std::int64_t clock_unix_ns{};
};
BOOST_DESCRIBE_STRUCT(ClockSet, (), (clock_unix_ns))

// operation "mount": virtiofs `tag` at /mnt/<name>, nosuid,nodev.
struct Mount {
    Mount() = default;
    std::string tag, name;
    bool read_only = false;
};
BOOST_DESCRIBE_STRUCT(Mount, (), (tag, name, read_only))

// operation "secret.write": `size` raw bytes follow on channel input, half-closed; then end Done.
// Written to /mnt/secrets/<name> (tmpfs), mode 0400, maitento.
struct SecretWrite {
    SecretWrite() = default;
    std::string name;
    std::uint32_t size{};
};
BOOST_DESCRIBE_STRUCT(SecretWrite, (), (name, size))

// operation "machine.settle": stop all commands, sync, unmount VFS; end Done when nothing of the
// guest's can reach a VFS any more. Then the host ends the machine.
struct Settle {
    Settle() = default;
    bool keep_commands = false;  // tests only sync and unmount
};
BOOST_DESCRIBE_STRUCT(Settle, (), (keep_commands))

// ---- guest -> host requests ---------------------------------------------------------------------

// operation "api": an HTTP connection of the `mt` inside; bytes guest->host on channel input, back
// on channel output. operation "egress": the same for a proxy connection.
struct Tunnel {
    Tunnel() = default;
    std::uint32_t peer_uid{};
};
BOOST_DESCRIBE_STRUCT(Tunnel, (), (peer_uid))

// ---- events and ends ----------------------------------------------------------------------------

struct CommandStarted {  // event "started"
    CommandStarted() = default;
    std::int32_t pid{};
};
BOOST_DESCRIBE_STRUCT(CommandStarted, (), (pid))

struct OutputReport {
    OutputReport() = default;
    std::string window;          // the last 65,536 characters
    std::uint64_t characters{};  // all there were
    std::uint64_t bytes{};       // raw
};
BOOST_DESCRIBE_STRUCT(OutputReport, (), (window, characters, bytes))

// How it ended. kind: "exited" (code), "signaled" (code = 128+signal, signal), "timedOut" (124),
// "outOfMemory" (137), "killed" (137), "failedToStart" (code 126 or 127, message). While running:
// "".
struct CommandReport {
    CommandReport() = default;
    std::string id;
    std::string kind;
    std::int32_t code{};
    std::optional<std::int32_t> signal;
    std::optional<std::string> message;
    std::uint64_t run_time_ms{};
    std::optional<std::uint64_t> peak_memory_bytes;
    OutputReport output, error;
    bool output_open = false;  // late output is still possible
};
BOOST_DESCRIBE_STRUCT(CommandReport, (),
                      (id, kind, code, signal, message, run_time_ms, peak_memory_bytes, output,
                       error, output_open))

struct OutputGap {  // event "gap" of a follower: bytes [from, to) of that channel are lost to it
    OutputGap() = default;
    std::uint8_t channel{};
    std::uint64_t from{}, to{};
};
BOOST_DESCRIBE_STRUCT(OutputGap, (), (channel, from, to))

struct InputTaken {  // event "taken"
    InputTaken() = default;
    std::uint64_t offset{};
    bool closed = false;
};
BOOST_DESCRIBE_STRUCT(InputTaken, (), (offset, closed))

// Every `end` payload: either {"ok": {...}} with the answer's struct, or {"failure": {...}}.
struct RemoteFailure {
    RemoteFailure() = default;
    std::string kind;  // name of protocol::Kind
    std::string message;
    std::int32_t error_number = 0;
};
BOOST_DESCRIBE_STRUCT(RemoteFailure, (), (kind, message, error_number))

struct Done {
    Done() = default;
};
BOOST_DESCRIBE_STRUCT(Done, (), ())

// Notice on stream 0, event "power": someone in the guest asked for poweroff, reboot or halt; or
// the agent reached its deadline ("deadline").
struct PowerNotice {
    PowerNotice() = default;
    std::string action;
};
BOOST_DESCRIBE_STRUCT(PowerNotice, (), (action))

}  // namespace protocol
