#include "tests/sdk/mt/program.hpp"

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>

namespace program {
namespace {

using protocol::UniqueFd;
using std::chrono::steady_clock;

struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
        reader.reset(ends[0]);
        writer.reset(ends[1]);
    }
    UniqueFd reader, writer;
};

}  // namespace

Program::Program(const std::vector<std::string>& words, const Environment& environment) {
    Pipe in, out, err;
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in.reader.get(), 0);
    ::posix_spawn_file_actions_adddup2(&actions, out.writer.get(), 1);
    ::posix_spawn_file_actions_adddup2(&actions, err.writer.get(), 2);

    std::vector<std::string> texts{MT_PROGRAM};
    texts.insert(texts.end(), words.begin(), words.end());
    std::vector<std::string> variables{"PATH=/usr/bin:/bin"};
    for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
    std::vector<char*> argv, envp;
    for (std::string& text : texts) argv.push_back(text.data());
    for (std::string& variable : variables) envp.push_back(variable.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    if (::posix_spawn(&pid_, MT_PROGRAM, &actions, nullptr, argv.data(), envp.data()) != 0) {
        throw std::runtime_error("cannot start " MT_PROGRAM);
    }
    ::posix_spawn_file_actions_destroy(&actions);
    input_ = std::move(in.writer);
    output_ = std::move(out.reader);
    error_ = std::move(err.reader);
}

Program::~Program() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

void Program::write_input(const std::string& bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t count = ::write(input_.get(), bytes.data() + done, bytes.size() - done);
        if (count <= 0) throw std::runtime_error("mt does not take its input");
        done += static_cast<std::size_t>(count);
    }
}

void Program::read_ready(int timeout_ms) {
    std::array<pollfd, 2> waiting{{{output_.get(), POLLIN, 0}, {error_.get(), POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), timeout_ms) <= 0) return;
    std::array<char, 65536> piece;
    const auto take = [&](pollfd state, UniqueFd& fd, std::string& text) {
        if (!fd || state.revents == 0) return;
        const ssize_t count = ::read(fd.get(), piece.data(), piece.size());
        if (count <= 0) {
            fd.reset();
        } else {
            text.append(piece.data(), static_cast<std::size_t>(count));
        }
    };
    take(waiting[0], output_, outcome_.out);
    take(waiting[1], error_, outcome_.err);
}

bool Program::wait_for(const std::string& text) {
    const auto deadline = steady_clock::now() + std::chrono::seconds(20);
    while (outcome_.out.find(text) == std::string::npos) {
        if (!output_ || steady_clock::now() > deadline) return false;
        read_ready(100);
    }
    return true;
}

Outcome Program::finish() {
    const auto deadline = steady_clock::now() + std::chrono::seconds(60);
    while (output_ || error_) {
        if (steady_clock::now() > deadline) {
            ::kill(pid_, SIGKILL);
            break;
        }
        read_ready(100);
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    outcome_.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return outcome_;
}

Outcome run(const std::vector<std::string>& words, const Environment& environment,
            const std::string& input) {
    Program program(words, environment);
    if (!input.empty()) program.write_input(input);
    program.close_input();
    return program.finish();
}

}  // namespace program
