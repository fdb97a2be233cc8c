#pragma once
// Route: one operation of the API: where it is, what it takes and answers, and who does it. The
// router, the checks before a handler runs and the OpenAPI document are all made from these.

#include "host/api/response.hpp"
#include "host/sandbox/guest.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace host::api {

class Exchange;
using Handler = sandbox::Async<Response> (*)(Exchange&);

enum class Method : std::uint8_t { get, put, post, remove };
std::string_view to_string(Method method);  // "GET", "DELETE"

struct Parameter {
    std::string_view name;
    std::string_view type;  // a schema of openapi_schemas.cpp: "Wait", "Count"...
    std::string_view description;
    enum class In : std::uint8_t { query, header } in = In::query;
};

struct Body {
    // none: any body is skipped. json: `schema` names it. raw: bytes.
    enum class Kind : std::uint8_t { none, json, raw } kind = Kind::none;
    std::string_view schema = {};
    bool required = true;
};

struct Answer {
    unsigned status;
    std::string_view description;
    std::string_view schema = {};      // of application/json
    std::string_view media_type = {};  // other than application/json
};

struct Route {
    Method method;
    // "{name}" stands for one segment; "{path}" at the end for the rest, also none.
    std::string_view path;
    std::string_view operation;
    std::string_view summary;
    Handler handler;
    std::vector<Parameter> parameters = {};
    Body body = {};
    std::vector<Answer> answers = {};
    std::vector<std::string_view> problems = {};  // beside those every route may answer
    enum class Key : std::uint8_t { needed, open } key = Key::needed;
};

}  // namespace host::api
