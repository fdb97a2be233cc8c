#pragma once
// AgentFixture: the agent's service, command engine and a link over a socket pair, with a host-role
// session at the other end, all on one loop in the test's process. Commands are real processes of
// the user who runs the test.

#include "guest-agent/process/cgroup.hpp"
#include "guest-agent/process/reaper.hpp"
#include "guest-agent/service/service.hpp"
#include "guest-agent/transport/link_server.hpp"
#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/operations.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <gtest/gtest.h>

namespace guest_agent {

// Records what it was asked and changes nothing.
class FakeMachine final : public Machine {
  public:
    protocol::Result<void> set_hostname(const std::string& name) override;
    protocol::Result<void> set_clock(std::int64_t unix_ns) override;
    protocol::Result<void> mount(const protocol::Mount& request) override;
    protocol::Result<void> write_secret(const std::string& name, std::string_view bytes) override;
    void release_vfs(bool kill_all, std::function<void(protocol::Result<void>)> done) override;
    void power_off() override { powered_off = true; }

    std::string hostname;
    std::vector<std::string> mounts;
    std::map<std::string, std::string> secrets;
    int released = 0;
    bool powered_off = false;
};

// What the host has seen of one stream.
struct StreamLog {
    StreamLog() = default;
    std::vector<boost::json::object> events;
    std::map<protocol::Channel, std::string> data;
    std::map<protocol::Channel, bool> closed;
    std::size_t largest_frame = 0;  // of data
    std::string opened_as;          // by the guest
    std::string end;

    const boost::json::object* event(std::string_view name) const;
};

// The host's end of one connection.
class HostEnd final : public protocol::LinkObserver {
  public:
    void connect(boost::asio::io_context& loop, protocol::UniqueFd fd);
    protocol::StreamId open(std::string request);
    StreamLog& log(protocol::StreamId id) { return logs[id]; }

    std::map<protocol::StreamId, StreamLog> logs;
    std::shared_ptr<protocol::Link> link;
    bool ready = false;
    bool give_credit = true;

  private:
    void on_event(protocol::SessionEvent event) override;
    void on_closed(const protocol::Failure&) override { ready = false; }
};

class AgentFixture : public testing::Test {
  protected:
    // `polls`: the link is a virtio-serial port, which takes pages; a socket stands for it.
    explicit AgentFixture(protocol::EndOfFile transport = protocol::EndOfFile::closes);
    ~AgentFixture() override;

    void connect();  // also again, as after a lost link
    void disconnect();
    // Runs the loop until `done`; fails the test after `limit`.
    void until(const std::function<bool()>& done,
               std::chrono::milliseconds limit = std::chrono::seconds(30));

    static protocol::CommandStart shell(std::string text, std::vector<std::string> arguments = {});
    template <typename Request>
    protocol::StreamId open(std::string_view operation, const Request& request) {
        return host().open(protocol::encode_request(operation, request));
    }
    protocol::StreamId start(const protocol::CommandStart& request);
    // Until `exited`; the command is not forgotten.
    protocol::CommandReport run(const protocol::CommandStart& request);
    protocol::CommandReport run(std::string text, std::vector<std::string> arguments = {});
    protocol::CommandReport exited(protocol::StreamId stream);
    // Waits for the end: the answer, or the failure.
    template <typename Answer>
    protocol::Result<Answer> answer(protocol::StreamId stream) {
        until([&] { return !host().log(stream).end.empty(); });
        return protocol::decode_end<Answer>(host().log(stream).end);
    }
    template <typename Request>
    protocol::Result<protocol::Done> call(std::string_view operation, const Request& request) {
        return answer<protocol::Done>(open(operation, request));
    }
    protocol::CommandReference reference(const std::string& id) const;
    HostEnd& host() { return *host_; }
    bool has_cgroups() const { return !cgroup_.empty(); }

    boost::asio::io_context loop_{1};
    std::string folder_;  // holds etc/passwd and the home
    FakeMachine machine_;

  private:
    void make_groups();

    protocol::EndOfFile transport_;
    std::string cgroup_;
    Reaper reaper_{loop_.get_executor()};
    std::unique_ptr<ProcessGroups> groups_;
    std::unique_ptr<CommandContext> context_;
    std::unique_ptr<LinkServer> server_;
    std::unique_ptr<HostEnd> host_;

  protected:
    std::unique_ptr<Service> service_;
};

}  // namespace guest_agent
