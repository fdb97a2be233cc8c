#pragma once
// The OpenAPI 3.1 document, made from the table of routes and the schemas of openapi_schemas.cpp.

#include "host/api/route.hpp"

#include <vector>

#include <boost/json/object.hpp>

namespace host::api {

boost::json::object openapi_document(const std::vector<Route>& routes);
// `components/schemas`.
boost::json::object openapi_schemas();

}  // namespace host::api
