#include "sdk/mt/input_pump.hpp"

#include "sdk/mt/output.hpp"

#include <array>
#include <poll.h>
#include <unistd.h>

namespace mt {

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

void InputPump::pump(sdk::Client client) {
    std::array<char, 64u << 10> piece;
    std::uint64_t offset = 0;
    for (;;) {
        std::array<pollfd, 2> waiting{{{fd_, POLLIN, 0}, {stop_.fd(), POLLIN, 0}}};
        if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
        if (waiting[1].revents != 0) return;
        ssize_t count = ::read(fd_, piece.data(), piece.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        count = std::max<ssize_t>(count, 0);  // an input that cannot be read has ended
        const std::string bytes(piece.data(), static_cast<std::size_t>(count));
        const auto sent = client.reconnecting(
            [&] { return client.send_input(run_, command_, offset, bytes, bytes.empty()); });
        if (!sent) {
            // A command that ended has no more use for input; whoever follows it says so.
            const auto& failure = sent.error();
            const bool expected = sdk::is_interrupted(failure) ||
                                  failure.kind() == protocol::Kind::conflict ||
                                  failure.kind() == protocol::Kind::not_found;
            if (!expected) {
                write_all(STDERR_FILENO, "mt: standard input: " + failure.describe() + "\n");
            }
            return;
        }
        if (bytes.empty()) return;
        offset += bytes.size();
    }
}

}  // namespace mt
