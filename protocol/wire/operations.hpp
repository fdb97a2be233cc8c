#pragma once
// The names on the wire, once: operations (member `operation` of an `open` payload) and events
// (member `event`). Names are never reused. messages.hpp has the structs; the frozen surface is
// protocol/schema/generation-1.json.

namespace protocol {

namespace operation {
// host -> guest
inline constexpr char command_start[] = "command.start";    // CommandStart -> CommandReport
inline constexpr char command_state[] = "command.state";    // CommandReference -> CommandReport
inline constexpr char command_forget[] = "command.forget";  // CommandReference -> Done
inline constexpr char command_follow[] = "command.follow";  // CommandFollow -> Done
inline constexpr char command_input[] = "command.input";    // CommandInput -> Done
inline constexpr char command_signal[] = "command.signal";  // CommandSignal -> Done
inline constexpr char command_resize[] = "command.resize";  // CommandResize -> Done
inline constexpr char machine_configure[] = "machine.configure";  // MachineConfigure -> Done
inline constexpr char machine_clock[] = "machine.clock";          // ClockSet -> Done
inline constexpr char machine_settle[] = "machine.settle";        // Settle -> Done
inline constexpr char mount[] = "mount";                          // Mount -> Done
inline constexpr char secret_write[] = "secret.write";            // SecretWrite -> Done
// guest -> host
inline constexpr char api[] = "api";        // Tunnel -> Done
inline constexpr char egress[] = "egress";  // Tunnel -> Done
}  // namespace operation

namespace event {
inline constexpr char started[] = "started";  // of command.start: CommandStarted
inline constexpr char exited[] = "exited";  // of command.start: CommandReport; of a follower: Done
inline constexpr char gap[] = "gap";        // of command.follow: OutputGap
inline constexpr char taken[] = "taken";    // of command.input: InputTaken
inline constexpr char power[] = "power";    // notice on stream 0: PowerNotice
}  // namespace event

}  // namespace protocol
