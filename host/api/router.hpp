#pragma once
// Router: finds the route of a request. Pure.

#include "host/api/route.hpp"
#include "host/api/target.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace host::api {

struct Match {
    Match() = default;
    const Route* route = nullptr;  // nullptr: no such path, or not with this method
    bool head = false;             // asked with HEAD: answer without the body
    std::map<std::string, std::string, std::less<>>
        segments;         // "ns" -> "default"; "path" -> "/a/b"
    std::string allowed;  // methods of the path, for `Allow`; "" = no such path
};

class Router {
  public:
    explicit Router(std::vector<Route> routes);
    Match find(std::string_view method, const Target& target) const;
    const std::vector<Route>& routes() const { return routes_; }

  private:
    struct Pattern {
        std::vector<std::string_view> parts;
        bool rest = false;
    };
    std::vector<Route> routes_;
    std::vector<Pattern> patterns_;  // of routes_, in the same order
};

}  // namespace host::api
