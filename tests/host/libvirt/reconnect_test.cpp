// Losing libvirtd, without ending it for everybody else on the machine: the connection goes through
// a socket of the test's own, which it cuts.

#include "host/libvirt/connection.hpp"
#include "protocol/base/unique_fd.hpp"

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <list>
#include <mutex>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace host::libvirt {
namespace {

using protocol::UniqueFd;
using namespace std::chrono_literals;

constexpr char libvirt_socket[] = "/run/libvirt/libvirt-sock";

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return address;
}

// Copies bytes between clients and libvirtd until it is destroyed.
class Relay {
  public:
    explicit Relay(const std::string& path) : path_(path) {
        // libvirt writes into what the relay has cut; the daemon ignores the signal as well.
        std::signal(SIGPIPE, SIG_IGN);
        std::filesystem::remove(path);
        listener_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const sockaddr_un address = address_of(path);
        // The socket API takes every address as a sockaddr.
        if (bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
                0 &&
            listen(listener_.get(), 8) == 0) {
            thread_ = std::thread([this] { accept_loop(); });
        }
    }
    ~Relay() {
        stop_ = true;
        thread_.join();
        for (auto& thread : pumps_) thread.join();
        std::filesystem::remove(path_);
    }

  private:
    void accept_loop() {
        while (!stop_) {
            pollfd entry{listener_.get(), POLLIN, 0};
            if (poll(&entry, 1, 20) <= 0) continue;
            UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            UniqueFd server(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
            const sockaddr_un address = address_of(libvirt_socket);
            if (::connect(server.get(), reinterpret_cast<const sockaddr*>(&address),
                          sizeof address) != 0) {
                continue;
            }
            pumps_.emplace_back(
                [this, a = std::move(client), b = std::move(server)] { pump(a, b); });
        }
    }
    static bool copy(int from, int to) {
        char buffer[65'536];
        const ssize_t count = read(from, buffer, sizeof buffer);
        return count > 0 &&
               send(to, buffer, static_cast<std::size_t>(count), MSG_NOSIGNAL) == count;
    }
    void pump(const UniqueFd& a, const UniqueFd& b) const {
        while (!stop_) {
            pollfd entries[] = {{a.get(), POLLIN, 0}, {b.get(), POLLIN, 0}};
            if (poll(entries, 2, 20) <= 0) continue;
            if (entries[0].revents != 0 && !copy(a.get(), b.get())) return;
            if (entries[1].revents != 0 && !copy(b.get(), a.get())) return;
        }
    }

    std::string path_;
    UniqueFd listener_;
    std::atomic<bool> stop_ = false;
    std::list<std::thread> pumps_;
    std::thread thread_;
};

TEST(Reconnect, ComesBackAndSaysSo) {
    if (access(libvirt_socket, W_OK) != 0) GTEST_SKIP() << "libvirtd does not run here";
    const std::string path = "/tmp/libvirt-relay-" + std::to_string(getpid());
    auto relay = std::make_unique<Relay>(path);
    auto hypervisor =
        connect("qemu+unix:///system?socket=" + path, protocol::InstallationId::random());
    ASSERT_TRUE(hypervisor) << hypervisor.error().describe();
    std::mutex mutex;
    std::condition_variable told;
    int times = 0;
    (*hypervisor)->on_reconnect([&] {
        const std::lock_guard lock(mutex);
        ++times;
        told.notify_all();
    });
    ASSERT_TRUE((*hypervisor)->list());

    for (int round = 1; round <= 2; ++round) {
        relay.reset();
        protocol::Result<std::vector<sandbox::Machine>> machines;
        const auto deadline = std::chrono::steady_clock::now() + 10s;
        do {
            machines = (*hypervisor)->list();
        } while (machines && std::chrono::steady_clock::now() < deadline);
        ASSERT_FALSE(machines) << "nothing may be concluded without libvirt";
        EXPECT_EQ(machines.error().kind(), protocol::Kind::unavailable);

        relay = std::make_unique<Relay>(path);
        std::unique_lock lock(mutex);
        ASSERT_TRUE(told.wait_for(lock, 20s, [&] { return times == round; }));
        lock.unlock();
        EXPECT_TRUE((*hypervisor)->list());
    }
}

TEST(Reconnect, CanBeGivenUpWhileLibvirtIsGone) {
    if (access(libvirt_socket, W_OK) != 0) GTEST_SKIP() << "libvirtd does not run here";
    const std::string path = "/tmp/libvirt-relay-" + std::to_string(getpid());
    auto relay = std::make_unique<Relay>(path);
    auto hypervisor =
        connect("qemu+unix:///system?socket=" + path, protocol::InstallationId::random());
    ASSERT_TRUE(hypervisor);
    relay.reset();
    hypervisor->reset();
}

}  // namespace
}  // namespace host::libvirt
