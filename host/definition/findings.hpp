#pragma once
// Findings: what is wrong with a definition, in order of discovery, at most limits::findings. Used
// by the lexer, the syntax parser and the reader of properties.

#include "host/definition/limits.hpp"
#include "host/sandbox/service.hpp"

#include <string>
#include <utility>
#include <vector>

namespace host::definition {

// From 1; columns count code points, so that they agree with what an editor shows.
struct Position {
    std::size_t line = 1, column = 1;
};

class Findings {
  public:
    explicit Findings(std::string file) : file_(std::move(file)) {}

    // What findings without a name of their own are about: the property being read.
    void set_subject(std::string name) { subject_ = std::move(name); }
    void add(Position at, std::string name, std::string message) {
        if (full()) return;
        if (name.empty()) name = subject_;
        sandbox::Diagnostic finding;
        finding.file = file_;
        finding.line = at.line;
        finding.column = at.column;
        finding.name = std::move(name);
        finding.message = std::move(message);
        list_.push_back(std::move(finding));
    }
    bool empty() const { return list_.empty(); }
    bool full() const { return list_.size() >= limits::findings; }
    std::vector<sandbox::Diagnostic> take() { return std::move(list_); }

  private:
    std::string file_, subject_;
    std::vector<sandbox::Diagnostic> list_;
};

}  // namespace host::definition
