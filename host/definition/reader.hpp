#pragma once
// Reader: the tree of a definition to model::Definition. Knows every property, its type and its
// rules; adds a finding for each breach and reads on.

#include "host/definition/rules.hpp"
#include "host/definition/values.hpp"
#include "host/model/definition.hpp"

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace host::definition {

class Reader : private TypedValues {
  public:
    using TypedValues::TypedValues;

    // Meaningful only while there are no findings.
    model::Definition definition(const Object& file);

  private:
    // Hands over each object of a list of objects, and where it stands.
    void each(const Value& value, std::string_view name, std::size_t limit,
              const std::function<void(const Object&, Position)>& read);
    // A `mountName`, which no other `what` of the capsule has. As written, also when it is objected
    // to; "" if it is no text.
    std::string mount_name(const Value& value, Objection (*check)(std::string_view),
                           std::string_view what, std::set<std::string>& taken);
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
