#pragma once
// Problems: the one table from failures to HTTP statuses and stable codes (RFC 9457). docs/api.md
// lists the codes; the OpenAPI document is made from this table.

#include "host/api/response.hpp"
#include "host/sandbox/service.hpp"
#include "protocol/base/failure.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace host::api {

struct ProblemCode {
    std::string_view code;
    unsigned status;
    std::string_view title;
};

std::span<const ProblemCode> problem_codes();
// nullptr: not a code of the API.
const ProblemCode* find_problem(std::string_view code);
// The entry for a failure: by its code, its cause (a full disk) or its kind.
const ProblemCode& problem_of(const protocol::Failure& failure);

Response problem(const protocol::Failure& failure);
Response problem(std::string_view code, std::string detail);
// A refused deploy: all findings, as `errors`.
Response definition_problem(const std::vector<sandbox::Diagnostic>& findings);

}  // namespace host::api
