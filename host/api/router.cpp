#include "host/api/router.hpp"

namespace host::api {

namespace {

constexpr std::string_view rest_of_path = "{path}";

bool is_variable(std::string_view part) {
    return part.starts_with('{');
}
std::string_view name_of(std::string_view variable) {
    return variable.substr(1, variable.size() - 2);
}

}  // namespace

std::string_view to_string(Method method) {
    switch (method) {
        case Method::get:
            return "GET";
        case Method::put:
            return "PUT";
        case Method::post:
            return "POST";
        case Method::remove:
            return "DELETE";
    }
    return "GET";
}

Router::Router(std::vector<Route> routes) : routes_(std::move(routes)) {
    for (const Route& route : routes_) {
        Pattern pattern;
        std::string_view path = route.path.substr(1);
        while (true) {
            const std::size_t slash = path.find('/');
            const std::string_view part = path.substr(0, slash);
            if (part == rest_of_path) {
                pattern.rest = true;
            } else {
                pattern.parts.push_back(part);
            }
            if (slash == std::string_view::npos) break;
            path.remove_prefix(slash + 1);
        }
        patterns_.push_back(std::move(pattern));
    }
}

Match Router::find(std::string_view method, const Target& target) const {
    Match match;
    match.head = method == "HEAD";
    const std::string_view wanted = match.head ? "GET" : method;
    const auto allow = [&match](std::string_view name) {
        if (!match.allowed.empty()) match.allowed += ", ";
        match.allowed += name;
    };
    for (std::size_t index = 0; index < routes_.size(); ++index) {
        const Route& route = routes_[index];
        const Pattern& pattern = patterns_[index];
        const auto& given = target.segments;
        const std::size_t parts = pattern.parts.size();
        if (pattern.rest ? given.size() < parts : given.size() != parts) continue;
        bool same = true;
        for (std::size_t i = 0; i < parts && same; ++i) {
            same = is_variable(pattern.parts[i]) || pattern.parts[i] == given[i];
        }
        if (!same) continue;
        allow(to_string(route.method));
        if (route.method == Method::get) allow("HEAD");
        if (to_string(route.method) != wanted) continue;
        match.route = &route;
        for (std::size_t i = 0; i < parts; ++i) {
            if (is_variable(pattern.parts[i]))
                match.segments.emplace(name_of(pattern.parts[i]), given[i]);
        }
        if (!pattern.rest) continue;
        std::string path;
        for (std::size_t i = parts; i < given.size(); ++i) path += "/" + given[i];
        match.segments.emplace(name_of(rest_of_path), path.empty() ? "/" : path);
    }
    return match;
}

}  // namespace host::api
