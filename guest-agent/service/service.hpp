#pragma once
// Service: routes what the host asks (protocol/wire/operations.hpp) to commands, machine and
// tunnels. Lives as long as the agent; connections come and go below it. The only place that knows
// the names of operations. Threading: the loop thread.

#include "guest-agent/process/registry.hpp"
#include "guest-agent/service/machine.hpp"
#include "guest-agent/service/peer.hpp"
#include "guest-agent/service/streams.hpp"
#include "guest-agent/tunnel/listener.hpp"
#include "protocol/session/session.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/value.hpp>

namespace guest_agent {

// Where a running machine keeps things; tests use other places.
struct ServicePaths {
    ServicePaths() = default;
    std::string root;  // prefix of /etc/passwd
    std::string environment_file = "/etc/capsule/environment";
    std::string proxy_environment_file = "/etc/capsule/proxy-environment";  // with a network only
    std::string api_folder = "/run/capsule";
    std::uint16_t proxy_port = 3128;
};

class Service {
  public:
    Service(CommandContext& context, Machine& machine, ServicePaths paths);

    // ---- the transport's side ----
    // A connection is there, perhaps in place of an earlier one.
    void on_link(std::shared_ptr<protocol::Link> link);
    void on_link_lost();
    void on_event(protocol::SessionEvent event);

    // Until this was called, what the host asks waits: the host is answered before the machine is
    // complete.
    void machine_ready();
    // Someone inside asked for "poweroff", "reboot" or "halt": tells the host, settles, switches
    // off.
    void power(const std::string& action);

  private:
    using Answer = protocol::Result<void>;

    void handle(protocol::SessionEvent event);
    void open(protocol::StreamId id, const std::string& request);
    // The operations; nullopt: something else answers later.
    std::optional<Answer> dispatch(protocol::StreamId id, const std::string& operation,
                                   const boost::json::value& body);
    std::optional<Answer> dispatch_machine(protocol::StreamId id, const std::string& operation,
                                           const boost::json::value& body);
    template <typename Handler, typename Request>
    std::optional<Answer> serve(protocol::StreamId id, const boost::json::value& body);
    std::optional<Answer> start_command(protocol::StreamId id,
                                        const protocol::CommandStart& request);
    std::optional<Answer> report_state(protocol::StreamId id, const std::string& command_id);
    std::optional<Answer> write_secret(protocol::StreamId id, const protocol::SecretWrite& request);
    std::optional<Answer> settle(protocol::StreamId id, const protocol::Settle& request);
    Answer configure(const protocol::MachineConfigure& request);
    std::string api_socket() const;
    Answer open_tunnels(const protocol::MachineConfigure& request);
    Answer mount(const protocol::Mount& request);

    void arm_deadline(std::uint64_t after_ms);
    void stop_everything(bool keep_commands, std::function<void(Answer)> done);
    void notice(const std::string& action);

    CommandContext& context_;
    Machine& machine_;
    ServicePaths paths_;
    CommandRegistry commands_;
    Peer peer_;
    TunnelListener egress_, api_;  // before streams_: their tunnels go first
    Streams streams_;
    boost::asio::steady_timer deadline_timer_;
    std::vector<protocol::SessionEvent> waiting_;
    bool ready_ = false;
    bool settled_ = false;
    bool powering_off_ = false;
};

}  // namespace guest_agent
