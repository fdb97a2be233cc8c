#pragma once
// Runs the built mt as a user does, with pipes or a pseudo-terminal.

#include "protocol/base/unique_fd.hpp"

#include <chrono>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace program {

struct Outcome {
    int code = -1;  // 128 + n when a signal ended it
    std::string out, err;
};

using Environment = std::map<std::string, std::string>;

// A started mt. Its standard input is a pipe that stays open until close_input() or finish().
class Program {
  public:
    Program(const std::vector<std::string>& words, const Environment& environment);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    pid_t pid() const { return pid_; }
    void write_input(const std::string& bytes);
    void close_input() { input_.reset(); }
    // Closes our end of its standard output, as `head` does.
    void close_output() { output_.reset(); }
    // Reads standard output until it contains `text`; false at the end of file or after 20 s.
    bool wait_for(const std::string& text);
    Outcome finish();  // at most 60 s, then it is killed

  private:
    void read_ready(int timeout_ms);

    pid_t pid_ = -1;
    protocol::UniqueFd input_, output_, error_;
    Outcome outcome_;
};

Outcome run(const std::vector<std::string>& words, const Environment& environment,
            const std::string& input = "");

}  // namespace program
