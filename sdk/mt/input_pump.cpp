#include "sdk/mt/input_pump.hpp"

#include "sdk/cpp/input_tail.hpp"
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

namespace {

// Sends one piece; after a lost connection the tail before it goes first, in one request.
protocol::Result<void> send_piece(sdk::Client& client, const std::string& run,
                                  const std::string& command, sdk::InputTail& tail,
                                  const std::string& piece) {
    const bool close = piece.empty();
    auto sent = client.send_input(run, command, tail.end(), piece, close);
    // "invalid": a daemon that started in between and its machine lack what came before.
    const bool again = !sent && (sdk::is_connection_failure(sent.error()) ||
                                 sent.error().kind() == protocol::Kind::invalid_argument);
    if (again) {
        sent = client.reconnecting([&] {
            return client.send_input(run, command, tail.start(), tail.bytes() + piece, close);
        });
    }
    tail.append(piece);
    return sent;
}

}  // namespace

void InputPump::pump(sdk::Client client) {
    std::array<char, 64u << 10> buffer;
    sdk::InputTail tail;
    for (;;) {
        std::array<pollfd, 2> waiting{{{fd_, POLLIN, 0}, {stop_.fd(), POLLIN, 0}}};
        if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
        if (waiting[1].revents != 0) return;
        const ssize_t count = ::read(fd_, buffer.data(), buffer.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        // An input that cannot be read has ended.
        const std::string piece(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
        if (const auto sent = send_piece(client, run_, command_, tail, piece); !sent) {
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
        if (piece.empty()) return;
    }
}

}  // namespace mt
