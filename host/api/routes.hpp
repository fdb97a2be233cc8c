#pragma once
// The table of all routes: the single source for what the API has.

#include "host/api/route.hpp"

#include <vector>

namespace host::api {

std::vector<Route> all_routes();

}  // namespace host::api
