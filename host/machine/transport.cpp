// Which transport the host link uses. Opens the vhost device only: an AF_VSOCK socket on a host
// without it would reach that machine's own outer host.

#include "host/machine/capabilities.hpp"
#include "protocol/base/unique_fd.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>

#include <fmt/format.h>

namespace host::machine {

TransportReport choose_transport() {
    constexpr char device[] = "/dev/vhost-vsock";
    const protocol::UniqueFd opened(open(device, O_RDWR | O_CLOEXEC));
    TransportReport report;
    if (opened) {
        report.transport = sandbox::Transport::vsock;
        report.reason = "/dev/vhost-vsock can be opened";
        return report;
    }
    report.transport = sandbox::Transport::serial;
    report.reason = errno == ENOENT
                        ? fmt::format("{} does not exist: a virtio-serial port is used", device)
                        : fmt::format("{} cannot be opened ({}): a virtio-serial port is used",
                                      device, std::strerror(errno));
    return report;
}

}  // namespace host::machine
