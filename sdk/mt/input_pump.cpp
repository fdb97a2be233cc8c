#include "sdk/mt/input_pump.hpp"

#include "sdk/mt/output.hpp"

#include <algorithm>
#include <array>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace mt {

namespace {

using protocol::fail;
using protocol::Failure;
using protocol::Kind;

// Tries without any new input in between; some time apart, so that a daemon can start meanwhile.
constexpr int fruitless_tries = 30;
constexpr int pause_ms = 200;

}  // namespace

InputPump::InputPump(sdk::Settings settings, std::string run, std::string command, int fd)
    : run_(std::move(run)), command_(std::move(command)), fd_(fd) {
    settings.interrupt = &stop_;
    thread_ = std::thread([this](sdk::Settings own) { pump(sdk::Client(std::move(own))); },
                          std::move(settings));
}

InputPump::~InputPump() {
    stop_.raise();
    thread_.join();
}

// Reads from our own standard input; stops when the command is over.
protocol::Result<std::size_t> InputPump::read(char* data, std::size_t size) {
    while (!at_end_) {
        std::array<pollfd, 2> waiting{{{fd_, POLLIN, 0}, {stop_.fd(), POLLIN, 0}}};
        if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
        if (waiting[1].revents != 0) {
            return fail(
                Failure::with_code(Kind::unavailable, sdk::interrupted_code, "interrupted"));
        }
        const ssize_t count = ::read(fd_, data, size);
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (count > 0) {
            tail_.append(std::string_view(data, static_cast<std::size_t>(count)));
            return static_cast<std::size_t>(count);
        }
        at_end_ = true;  // also an input that cannot be read
    }
    return 0;
}

// First what may have been lost with an earlier connection, then what comes.
protocol::Result<void> InputPump::send(sdk::Client& client) {
    const std::string again = tail_.bytes();
    std::size_t repeated = 0;
    return client.send_input(run_, command_, tail_.start(), [&](char* data, std::size_t size) {
        const std::size_t count = std::min(size, again.size() - repeated);
        if (count == 0) return read(data, size);
        std::copy_n(again.data() + repeated, count, data);
        repeated += count;
        return protocol::Result<std::size_t>(count);
    });
}

void InputPump::pump(sdk::Client client) {
    std::uint64_t reached = 0;
    for (int tries = 0; tries < fruitless_tries; ++tries) {
        const auto sent = send(client);
        if (sent || sdk::is_interrupted(sent.error())) return;
        const Failure& failure = sent.error();
        if (!sdk::is_connection_failure(failure)) {
            // A command that ended has no more use for input; whoever follows it says so.
            const bool expected =
                failure.kind() == Kind::conflict || failure.kind() == Kind::not_found;
            if (expected) return;
            if (failure.kind() != Kind::unavailable) {
                write_all(STDERR_FILENO, "mt: standard input: " + failure.describe() + "\n");
                return;
            }
        }
        if (std::exchange(reached, tail_.end()) != tail_.end()) tries = 0;
        if (stop_.wait(pause_ms)) return;
        if (!client.reconnecting([&] { return client.open(); })) return;
    }
}

}  // namespace mt
