#include "host/egress/policy.hpp"

#include <algorithm>

namespace host::egress {

namespace {

constexpr std::uint16_t http_port = 80;
constexpr std::uint16_t https_port = 443;

// A path that a server could understand as another one than it reads as.
bool is_plain_path(std::string_view path) {
    const std::string text = lower_case(path);
    if (text.find('?') != std::string::npos || text.find('\\') != std::string::npos) return false;
    for (const std::string_view hidden : {"%2e", "%2f", "%5c", "%00"}) {
        if (text.find(hidden) != std::string::npos) return false;
    }
    std::string_view rest = text;
    while (!rest.empty()) {
        const auto slash = rest.find('/');
        const std::string_view segment = rest.substr(0, slash);
        if (segment == "." || segment == "..") return false;
        if (slash == std::string_view::npos) break;
        rest.remove_prefix(slash + 1);
    }
    return true;
}

bool is_fetch(const Target& target) {
    return target.method == "GET" || target.method == "HEAD";
}

bool is_of(const PackageSource& source, const Target& target) {
    return source.host == target.host && source.port == target.port;
}

// Inside TLS there is no path to judge, so an https source is host and port alone.
bool serves(const PackageSource& source, const Target& target) {
    if (!is_of(source, target)) return false;
    if (target.form == Target::Form::tunnel) return source.scheme == "https";
    return source.scheme == "http" && is_fetch(target) && is_plain_path(target.path) &&
           target.path.starts_with(source.path);
}

std::string quoted_list(const std::vector<std::string>& hosts) {
    std::string text;
    for (const std::string& host : hosts) text += (text.empty() ? "\"" : ", \"") + host + "\"";
    return text;
}

Verdict refuse(std::string why) {
    Verdict verdict;
    verdict.why = std::move(why);
    return verdict;
}

std::string how_to_allow(const Target& target) {
    if (target.is_address)
        return "Set network = \"internet\" in its definition and start a new run to change that.";
    return "Set network = [ \"" + target.host +
           "\" ] or network = \"internet\" in its definition and start a new run to change that.";
}

Verdict refuse_packages(const Policy& policy, const Target& target) {
    std::string sources;
    for (const PackageSource& source : policy.sources)
        sources += (sources.empty() ? "" : ", ") + url(source);
    if (sources.empty()) sources = "none are known for this image";
    const bool known =
        std::any_of(policy.sources.begin(), policy.sources.end(),
                    [&](const PackageSource& source) { return is_of(source, target); });
    std::string why =
        "This capsule has network = \"packages\": it may GET and HEAD from the image's package "
        "sources (" +
        sources + ") and reach nothing else. ";
    if (known)
        why += "Below " + target.authority() +
               " that is the paths named, plainly written and without a query. ";
    return refuse(why + how_to_allow(target));
}

}  // namespace

std::string url(const PackageSource& source) {
    const bool usual = source.port == (source.scheme == "https" ? https_port : http_port);
    return source.scheme + "://" + source.host + (usual ? "" : ":" + std::to_string(source.port)) +
           source.path;
}

bool is_web_port(std::uint16_t port) {
    return port == http_port || port == https_port;
}

bool matches_host(std::string_view pattern, std::string_view host) {
    const std::string wanted = lower_case(pattern);
    if (!wanted.starts_with("*.")) return wanted == host;
    const std::string_view suffix = std::string_view(wanted).substr(1);  // ".example.org"
    return host.size() > suffix.size() && host.ends_with(suffix);
}

Verdict judge(const Policy& policy, const Target& target) {
    const std::string& mode = policy.network.mode;
    if (mode != "packages" && mode != "internet" && mode != "hosts") {
        return refuse("This capsule has network = \"" + std::string(mode == "none" ? "none" : "?") +
                      "\": it may reach nothing. Change it in its definition and start a new run.");
    }
    Verdict allowed;
    if (std::any_of(policy.sources.begin(), policy.sources.end(),
                    [&](const PackageSource& source) { return serves(source, target); })) {
        allowed.what = Verdict::What::trusted;
        return allowed;
    }
    if (mode == "packages") return refuse_packages(policy, target);
    if (mode == "hosts") {
        const auto& hosts = policy.network.hosts;
        if (std::none_of(hosts.begin(), hosts.end(), [&](const std::string& pattern) {
                return matches_host(pattern, target.host);
            })) {
            return refuse("This capsule's network list (" + quoted_list(hosts) +
                          ") does not have " + target.host +
                          ". Add it in its definition and start a new run.");
        }
    }
    allowed.what = Verdict::What::if_reachable;
    return allowed;
}

Result<PackageSource> parse_source(std::string_view text) {
    PackageSource source;
    const auto colon = text.find("://");
    source.scheme = lower_case(text.substr(0, colon));
    if (colon == std::string_view::npos || (source.scheme != "http" && source.scheme != "https")) {
        return protocol::fail(protocol::Kind::invalid_argument,
                              "a package source starts with http:// or https://");
    }
    TRY(const Target target, parse_target("GET", "http" + std::string(text.substr(colon))));
    source.host = target.host;
    source.path = target.path.ends_with('/') ? target.path : target.path + "/";
    source.port = target.port;
    const std::string_view authority =
        text.substr(colon + 3, text.find('/', colon + 3) - colon - 3);
    const bool has_port =
        authority.find(':', authority.starts_with('[') ? authority.find(']') : 0) !=
        std::string_view::npos;
    if (!has_port && source.scheme == "https") source.port = https_port;
    if (!is_plain_path(source.path)) {
        return protocol::fail(protocol::Kind::invalid_argument,
                              "the path of a package source must be plainly written");
    }
    return source;
}

}  // namespace host::egress
