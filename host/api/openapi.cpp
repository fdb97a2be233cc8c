#include "host/api/openapi.hpp"

#include "host/api/problem.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <boost/json/array.hpp>

namespace host::api {

namespace json = boost::json;

namespace {

// What any route may answer beside its own problems.
constexpr std::array common_problems = {"invalid-request", "unknown-member", "internal"};

json::object schema_reference(std::string_view name) {
    json::object object;
    object["$ref"] = "#/components/schemas/" + std::string(name);
    return object;
}

json::object content(std::string_view media_type, json::object schema) {
    json::object media;
    media["schema"] = std::move(schema);
    json::object object;
    object[media_type] = std::move(media);
    return object;
}

std::string_view segment_schema(std::string_view name) {
    if (name == "run" || name == "command") return "Id";
    if (name == "path" || name == "id") return "Text";
    return "Name";
}

json::array path_parameters(std::string_view path) {
    json::array list;
    for (std::size_t at = path.find('{'); at != std::string_view::npos;
         at = path.find('{', at + 1)) {
        const std::string_view name = path.substr(at + 1, path.find('}', at) - at - 1);
        json::object parameter;
        parameter["name"] = name;
        parameter["in"] = "path";
        parameter["required"] = true;
        parameter["schema"] = schema_reference(segment_schema(name));
        if (name == "path")
            parameter["description"] = "May contain '/'; its parts are percent-encoded";
        list.push_back(std::move(parameter));
    }
    return list;
}

json::object parameter_of(const Parameter& given) {
    json::object parameter;
    parameter["name"] = given.name;
    parameter["in"] = given.in == Parameter::In::query ? "query" : "header";
    parameter["description"] = given.description;
    parameter["schema"] = schema_reference(given.type);
    return parameter;
}

json::object body_of(const Body& given) {
    json::object binary;
    binary["type"] = "string";
    binary["contentEncoding"] = "binary";
    json::object body;
    body["required"] = given.required;
    body["content"] = given.kind == Body::Kind::json
                          ? content("application/json", schema_reference(given.schema))
                          : content("application/octet-stream", std::move(binary));
    return body;
}

json::object answer_of(const Answer& given) {
    json::object answer;
    answer["description"] = given.description;
    json::object media;
    if (!given.schema.empty()) media = content("application/json", schema_reference(given.schema));
    if (!given.media_type.empty()) {
        json::object described;
        described["schema"] = json::object();
        media[given.media_type] = std::move(described);
    }
    if (!media.empty()) answer["content"] = std::move(media);
    return answer;
}

// Problems by status, each with its possible codes.
void add_problems(const Route& route, json::object& responses) {
    std::set<std::string_view> codes(common_problems.begin(), common_problems.end());
    codes.insert(route.problems.begin(), route.problems.end());
    if (route.key == Route::Key::needed) codes.insert({"unauthenticated", "forbidden"});
    if (route.body.kind == Body::Kind::json) codes.insert("too-large");
    std::map<unsigned, std::string> by_status;
    for (const std::string_view code : codes) {
        std::string& list = by_status[find_problem(code)->status];
        list += (list.empty() ? "" : ", ") + std::string(code);
    }
    for (const auto& [status, list] : by_status) {
        json::object answer;
        answer["description"] = list;
        answer["content"] = content("application/problem+json", schema_reference("Problem"));
        responses[std::to_string(status)] = std::move(answer);
    }
}

json::object operation_of(const Route& route) {
    json::object operation;
    operation["operationId"] = route.operation;
    operation["summary"] = route.summary;
    json::array parameters = path_parameters(route.path);
    for (const Parameter& parameter : route.parameters)
        parameters.push_back(parameter_of(parameter));
    if (!parameters.empty()) operation["parameters"] = std::move(parameters);
    if (route.body.kind != Body::Kind::none) operation["requestBody"] = body_of(route.body);
    json::object responses;
    for (const Answer& answer : route.answers)
        responses[std::to_string(answer.status)] = answer_of(answer);
    add_problems(route, responses);
    operation["responses"] = std::move(responses);
    if (route.key == Route::Key::open) operation["security"] = json::array();
    return operation;
}

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return result;
}

}  // namespace

json::object openapi_document(const std::vector<Route>& routes) {
    json::object paths;
    for (const Route& route : routes) {
        json::value& item = paths[route.path];
        if (!item.is_object()) item.emplace_object();
        item.as_object()[lower(to_string(route.method))] = operation_of(route);
    }
    json::object info;
    info["title"] = "Capsule host";
    info["version"] = CAPSULE_VERSION;
    json::object bearer;
    bearer["type"] = "http";
    bearer["scheme"] = "bearer";
    json::object schemes;
    schemes["key"] = std::move(bearer);
    json::object components;
    components["schemas"] = openapi_schemas();
    components["securitySchemes"] = std::move(schemes);
    json::object needs_key;
    needs_key["key"] = json::array();
    json::array security;
    security.push_back(std::move(needs_key));

    json::object document;
    document["openapi"] = "3.1.0";
    document["info"] = std::move(info);
    document["security"] = std::move(security);
    document["paths"] = std::move(paths);
    document["components"] = std::move(components);
    return document;
}

}  // namespace host::api
