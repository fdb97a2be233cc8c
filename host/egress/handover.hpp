#pragma once
// Handover: how the daemon gives a guest's connection to the proxy: one datagram on a
// SOCK_SEQPACKET socket, JSON with the run and its policy, and one descriptor: the proxy's end of a
// stream socket pair. Both ends are ours and of one version, so the JSON is read strictly.

#include "host/egress/policy.hpp"
#include "protocol/base/unique_fd.hpp"

#include <optional>
#include <string>

#include <boost/describe.hpp>

namespace host::egress {

// A policy that does not fit is refused where it is made, not cut here.
inline constexpr std::size_t handover_bytes = 128u << 10;

struct Handover {
    Handover() = default;
    std::string run;
    Policy policy;
};
BOOST_DESCRIBE_STRUCT(Handover, (), (run, policy))

std::string encode(const Handover& handover);
Result<Handover> decode_handover(std::string_view text);

struct Received {
    std::string text;
    protocol::UniqueFd fd;
};
// A non-blocking socket that is not ready: unavailable.
Result<void> send_with_fd(int socket, std::string_view text, int fd);
// nullopt: the other end is gone. protocol_violation for a datagram without exactly one descriptor.
Result<std::optional<Received>> receive_with_fd(int socket);

}  // namespace host::egress
