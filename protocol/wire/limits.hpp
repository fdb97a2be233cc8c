#pragma once
// Every number of the host link, each with its reason. Both sides include this header and neither
// declares a limit of its own. A length is compared with these before anything is allocated.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace protocol::limits {

// ---- frames -----------------------------------------------------------------------------------
inline constexpr std::size_t header_bytes = 12;
// One control payload (JSON). Room for both output windows of a command, worst-case escaped.
inline constexpr std::size_t control_payload_bytes = 1u << 20;
// One data payload. Small enough that a bulk transfer cannot hold up a control frame for long.
inline constexpr std::size_t data_payload_bytes = 64u << 10;
// Both below 2^24: the first byte of every frame is 0, which a preamble's first byte never is.
static_assert(control_payload_bytes < (1u << 24) && data_payload_bytes < (1u << 24));
// What a session hands its transport at a time, and so the size of the data frames it sends: Linux'
// virtio-serial driver takes no more in one write (drivers/char/virtio_console.c, port_fops_write).
inline constexpr std::size_t write_bytes = 32u << 10;
static_assert(write_bytes - header_bytes <= data_payload_bytes);
inline constexpr std::size_t json_depth = 16;

// ---- streams ----------------------------------------------------------------------------------
inline constexpr std::uint32_t commands_running = 256;     // commands alive at once in one run
inline constexpr std::uint32_t commands_ended_open = 256;  // ended, late output still possible
// Streams the host may have open: one a command, a follower and an input each, and room for calls.
inline constexpr std::uint32_t host_streams = 3 * (commands_running + commands_ended_open) + 64;
inline constexpr std::uint32_t guest_api_streams = 8;      // connections of the `mt` inside
inline constexpr std::uint32_t guest_egress_streams = 64;  // connections to the proxy
inline constexpr std::uint32_t guest_streams = guest_api_streams + guest_egress_streams;

// ---- credit -----------------------------------------------------------------------------------
// Initial and largest allowance per stream and channel. 256 KiB kept a virtio-serial port busy.
inline constexpr std::uint32_t window_bytes = 256u << 10;
// The allowance for an output that is followed, if host and guest agree on it (CommandFollow).
// More bytes on their way let program, agent and host work at the same time, and each return of
// credit makes an emulated processor wait for QEMU.
inline constexpr std::uint32_t follow_window_bytes = 2u << 20;
// What is asked of an agent that does not say how much it allows (HelloLimits). It may know
// window_bytes only; a step of credit must not be more than that.
inline constexpr std::uint32_t unsaid_follow_window_bytes = 512u << 10;
// Credit is returned in steps of at least half a window: small reads must not double the frame
// count, and each step interrupts the sender.
inline constexpr std::uint32_t credit_steps = 2;
static_assert(unsaid_follow_window_bytes / credit_steps <= window_bytes);
inline constexpr std::uint32_t credit_step_bytes = window_bytes / credit_steps;
// Control frames waiting to be sent. A peer that does not read is cut off, not buffered for.
inline constexpr std::size_t control_queue_bytes = 16u << 20;
// Data accepted by a session and not yet written to the transport, all streams together. Bounds a
// side's memory whatever the number of streams; the rest stays in pipes and sockets.
inline constexpr std::size_t data_queue_bytes = 1u << 20;
static_assert(data_queue_bytes >= window_bytes);

// ---- outputs ----------------------------------------------------------------------------------
// What a command's result keeps of each output: Unicode code points.
inline constexpr std::size_t output_window_characters = 65'536;
inline constexpr std::size_t output_window_bytes = output_window_characters * 4;  // UTF-8, worst
// Raw bytes kept per output for live followers, addressed by absolute offset. At least one credit
// window, so that a dropped link loses nothing its consumer had not taken.
inline constexpr std::size_t follow_ring_bytes = 256u << 10;
static_assert(follow_ring_bytes >= window_bytes);

// ---- commands ---------------------------------------------------------------------------------
inline constexpr std::size_t argument_bytes = 131'071;  // execve(2): MAX_ARG_STRLEN less the NUL
inline constexpr std::size_t arguments = 4'096;
inline constexpr std::size_t environment_entries = 512;
inline constexpr std::size_t secret_bytes = 64u << 10;

// ---- time -------------------------------------------------------------------------------------
using namespace std::chrono_literals;
inline constexpr auto handshake = 5s;     // preamble to hello, host side
inline constexpr auto call_answer = 30s;  // a control call that is not a command
inline constexpr auto ping_idle = 5s;     // silence before a ping
inline constexpr auto silence = 15s;      // silence that closes the connection
inline constexpr auto tick = 1s;          // how often a session is told the time
// The most that counts as the peer's silence between two ticks: when a busy loop comes late, what
// the peer has sent meanwhile is still waiting to be read.
inline constexpr auto longest_tick = 2 * tick;
inline constexpr auto connect_retry = 50ms;  // first retry; doubles up to the next line
inline constexpr auto connect_retry_max = 2s;
inline constexpr auto drain = 200ms;  // wait for end-of-file after a command's own exit
inline constexpr auto kill_grace =
    2s;  // a killed process is reported gone after this at the latest
inline constexpr auto lossless_hold = 30s;  // longest time a follower may hold a command back

// ---- transports -------------------------------------------------------------------------------
inline constexpr std::uint32_t vsock_port = 1000;                  // below 1024: only root binds it
inline constexpr char serial_port_name[] = "org.capsule.agent.0";  // virtio-serial port name

}  // namespace protocol::limits
