#pragma once
// Where the packages of an image come from: `aptSources` of its manifest, written when it was
// built, and what the operator adds. Never from the guest. Used to make a run's Policy.

#include "host/egress/policy.hpp"
#include "host/model/records.hpp"

#include <string>
#include <vector>

namespace host::egress {

// Blocking, one small file. A manifest without sources has none.
Result<std::vector<PackageSource>> sources_of_manifest(const std::string& path);

// What a run with this definition may reach.
Policy policy_of(const model::Network& network, std::vector<PackageSource> image_sources,
                 const std::vector<PackageSource>& operator_sources);

}  // namespace host::egress
