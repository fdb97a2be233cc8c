#pragma once
// A Guest connected to a ScriptedGuest, for tests of host/guest.

#include "host/guest/guest_link.hpp"
#include "tests/host/guest/scripted_guest.hpp"

#include <gtest/gtest.h>

namespace host::guest {

class GuestTest : public testing::Test {
  protected:
    std::shared_ptr<sandbox::Guest> make(Patience patience = Patience()) {
        sandbox::GuestCallbacks callbacks;
        callbacks.lost = [this](protocol::Failure why) { lost.push_back(std::move(why)); };
        callbacks.power = [this](protocol::PowerNotice notice) {
            notices.push_back(notice.action);
        };
        callbacks.late_report = [this](protocol::CommandReport late) {
            late_reports.push_back(std::move(late));
        };
        callbacks.tunnel = [this](sandbox::TunnelKind kind, protocol::Tunnel request,
                                  std::shared_ptr<sandbox::TunnelStream> stream) {
            tunnels.push_back({kind, request, std::move(stream)});
        };
        return make_guest(loop.io.get_executor(), protocol::RunId::random(), agent.address(),
                          std::move(callbacks), patience);
    }
    protocol::Result<protocol::Hello> connect(const std::shared_ptr<sandbox::Guest>& guest,
                                              std::string expected_boot_id = "") {
        return loop.wait(guest->connect(in(std::chrono::seconds(10)), std::move(expected_boot_id)));
    }
    static sandbox::Deadline in(std::chrono::milliseconds time) {
        return std::chrono::steady_clock::now() + time;
    }
    // Listens, connects, and expects it to work.
    std::shared_ptr<sandbox::Guest> connected(Patience patience = Patience()) {
        agent.listen();
        auto guest = make(patience);
        const auto hello = connect(guest);
        EXPECT_TRUE(hello) << hello.error().describe();
        return guest;
    }
    static protocol::CommandStart command(std::string text = "true") {
        protocol::CommandStart start;
        start.id = protocol::CommandId::random().str();
        start.shell = std::move(text);
        start.user = "maitento";
        return start;
    }

    struct TunnelSeen {
        sandbox::TunnelKind kind{};
        protocol::Tunnel request;
        std::shared_ptr<sandbox::TunnelStream> stream;
    };

    Loop loop;
    ScriptedGuest agent{loop.io};
    std::vector<protocol::Failure> lost;
    std::vector<std::string> notices;
    std::vector<protocol::CommandReport> late_reports;
    std::vector<TunnelSeen> tunnels;
};

}  // namespace host::guest
