#include "host/egress/package_sources.hpp"

#include "protocol/wire/json_codec.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

namespace host::egress {

using protocol::fail;
using protocol::Kind;

namespace {

constexpr std::size_t longest_manifest = 4u << 20;

// Of the manifest only what matters here; the codec ignores the rest.
struct Manifest {
    Manifest() = default;
    std::optional<std::vector<PackageSource>> apt_sources;
};
BOOST_DESCRIBE_STRUCT(Manifest, (), (apt_sources))

bool same(const PackageSource& a, const PackageSource& b) {
    return a.scheme == b.scheme && a.host == b.host && a.port == b.port && a.path == b.path;
}

}  // namespace

Result<std::vector<PackageSource>> sources_of_manifest(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return fail(protocol::Failure::from_errno("open " + path, errno));
    std::ostringstream text;
    text << file.rdbuf();
    if (text.str().size() > longest_manifest)
        return fail(Kind::too_large, path + " is no manifest");
    TRY(const auto value, protocol::parse_json(text.str()));
    TRY(auto manifest, protocol::from_json<Manifest>(value, protocol::UnknownMembers::ignore,
                                                     protocol::Naming::camel_case));
    std::vector<PackageSource> sources;
    for (const PackageSource& told : manifest.apt_sources.value_or(std::vector<PackageSource>())) {
        // Read again by the rules of the operator's own: one spelling, a plain path.
        auto source = parse_source(url(told));
        if (!source) return fail(std::move(source).error().context(path));
        if (std::none_of(sources.begin(), sources.end(),
                         [&](const auto& known) { return same(known, *source); })) {
            sources.push_back(std::move(*source));
        }
    }
    return sources;
}

Policy policy_of(const model::Network& network, std::vector<PackageSource> image_sources,
                 const std::vector<PackageSource>& operator_sources) {
    Policy policy;
    policy.network = network;
    policy.sources = std::move(image_sources);
    policy.sources.insert(policy.sources.end(), operator_sources.begin(), operator_sources.end());
    return policy;
}

}  // namespace host::egress
