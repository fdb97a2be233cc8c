#pragma once
// Reader: the tree of a definition to model::Definition. Knows every property, its type and its
// rules; adds a finding for each breach and reads on.

#include "host/definition/values.hpp"
#include "host/model/definition.hpp"

#include <string>
#include <utility>
#include <vector>

namespace host::definition {

class Reader : private TypedValues {
  public:
    using TypedValues::TypedValues;

    // Meaningful only while there are no findings.
    model::Definition definition(const Object& file);

  private:
    void packages(const Value& value);
    void users(const Value& value);
    void vfs(const Value& value);
    void secrets(const Value& value);
    void startup(const Value& value);
    void network(const Value& value);
    void resources(const Value& value);
    void environment(const Value& value);
    void check_startup_users();
    void check_shell_text(const model::StartupCommand& command, Position at);

    model::Definition result_;
    // Where startup[i].runAsUser stands, checked once `users` and `packages` are known.
    std::vector<std::pair<std::string, Position>> startup_users_;
};

}  // namespace host::definition
