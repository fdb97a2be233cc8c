#pragma once
// Instance: exactly one daemon per state folder. Makes the folders a daemon needs, locks the state
// folder as long as it lives, and keeps the pid file.

#include "protocol/base/result.hpp"
#include "protocol/base/unique_fd.hpp"

#include <string>

namespace host::config {

class Instance {
  public:
    // conflict, naming the folder, when another daemon has it.
    static protocol::Result<Instance> claim(const std::string& state, const std::string& runtime);
    Instance(Instance&&) noexcept = default;
    Instance& operator=(Instance&&) = delete;
    ~Instance();  // removes the pid file

  private:
    Instance(protocol::UniqueFd lock, std::string pid_file)
        : lock_(std::move(lock)), pid_file_(std::move(pid_file)) {}
    protocol::UniqueFd lock_;
    std::string pid_file_;
};

}  // namespace host::config
