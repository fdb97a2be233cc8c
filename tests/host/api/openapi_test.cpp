// Walks the served document: it is whole, and what the running server answers is what it says.

#include "host/api/openapi.hpp"

#include "host/api/problem.hpp"
#include "host/api/routes.hpp"
#include "tests/host/api/harness.hpp"

#include <regex>
#include <set>

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

namespace host::api::testing {
namespace {

namespace json = boost::json;

// The part of JSON Schema that the document uses.
class Validator {
  public:
    explicit Validator(const json::object& schemas) : schemas_(schemas) {}

    std::string check(const json::value& value, const json::object& schema,
                      const std::string& path = "$") const {
        if (const auto* reference = schema.if_contains("$ref")) {
            const std::string name = std::string(reference->as_string())
                                         .substr(std::string("#/components/schemas/").size());
            return check(value, schemas_.at(name).as_object(), path);
        }
        if (const auto* choices = schema.if_contains("oneOf")) {
            int fitting = 0;
            std::string why;
            for (const auto& choice : choices->as_array()) {
                const std::string wrong = check(value, choice.as_object(), path);
                if (wrong.empty()) ++fitting;
                why += wrong + "; ";
            }
            return fitting == 1 ? ""
                                : path + ": " + std::to_string(fitting) + " of oneOf fit: " + why;
        }
        if (const auto* choices = schema.if_contains("enum")) {
            for (const auto& choice : choices->as_array()) {
                if (choice == value) return "";
            }
            return path + ": not in enum: " + json::serialize(value);
        }
        if (const auto* constant = schema.if_contains("const"); constant && *constant != value)
            return path + ": not the const";
        if (const auto* type = schema.if_contains("type");
            type && !is_type(value, type->as_string())) {
            return path + ": is not of type " + std::string(type->as_string());
        }
        if (const auto* pattern = schema.if_contains("pattern"); pattern && value.is_string()) {
            const std::string text(value.as_string());
            if (!std::regex_search(text, std::regex(std::string(pattern->as_string()))))
                return path + ": pattern: " + text;
        }
        if (value.is_object()) return check_object(value.as_object(), schema, path);
        if (const auto* items = schema.if_contains("items"); items && value.is_array()) {
            for (const auto& item : value.as_array()) {
                if (auto wrong = check(item, items->as_object(), path + "[]"); !wrong.empty())
                    return wrong;
            }
        }
        return "";
    }

  private:
    static bool is_type(const json::value& value, std::string_view type) {
        if (type == "object") return value.is_object();
        if (type == "array") return value.is_array();
        if (type == "string") return value.is_string();
        if (type == "boolean") return value.is_bool();
        if (type == "integer") return value.is_int64() || value.is_uint64();
        return false;
    }

    std::string check_object(const json::object& object, const json::object& schema,
                             const std::string& path) const {
        if (const auto* required = schema.if_contains("required")) {
            for (const auto& name : required->as_array()) {
                if (!object.contains(name.as_string()))
                    return path + ": lacks " + std::string(name.as_string());
            }
        }
        const auto* properties = schema.if_contains("properties");
        for (const auto& entry : object) {
            const auto* known =
                properties ? properties->as_object().if_contains(entry.key()) : nullptr;
            const std::string inner = path + "." + std::string(entry.key());
            if (known) {
                if (auto wrong = check(entry.value(), known->as_object(), inner); !wrong.empty())
                    return wrong;
            } else if (const auto* others = schema.if_contains("additionalProperties");
                       others && *others == json::value(false)) {
                return inner + ": is not in the schema";
            }
        }
        return "";
    }

    const json::object& schemas_;
};

class OpenApi : public ::testing::Test {
  protected:
    void SetUp() override {
        document = host.request("GET", "/openapi.json").json().as_object();
        schemas = document.at("components").as_object().at("schemas").as_object();
    }
    const json::object& operation(const Route& route) {
        std::string method(to_string(route.method));
        for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
        return document.at("paths").as_object().at(route.path).as_object().at(method).as_object();
    }
    // Fails unless the document has this status, and the body fits its schema.
    void expect_documented(const Route& route, const Reply& reply) {
        const auto& responses = operation(route).at("responses").as_object();
        const auto* response = responses.if_contains(std::to_string(reply.status));
        ASSERT_NE(response, nullptr)
            << route.operation << " answered " << reply.status << " " << reply.body;
        const auto* content = response->as_object().if_contains("content");
        if (!content || reply.body.empty()) return;
        const auto* media = content->as_object().if_contains(reply.fields.at("content-type"));
        if (!media) return;  // text and bytes have no schema
        const auto& schema = media->as_object().at("schema").as_object();
        if (schema.empty()) return;  // a stream of bytes
        EXPECT_EQ(Validator(schemas).check(reply.json(), schema), "")
            << route.operation << " " << reply.body;
        if (reply.status < 400) return;
        const std::string description(response->as_object().at("description").as_string());
        EXPECT_THAT(description, ::testing::HasSubstr(reply.code())) << route.operation;
    }
    std::string concrete(std::string_view path) {
        std::string text(path);
        const auto put = [&text](const std::string& variable, const std::string& value) {
            if (const auto at = text.find(variable); at != std::string::npos)
                text.replace(at, variable.size(), value);
        };
        put("{ns}", "team");
        put("{vfs}", "data");
        put("{name}", path.find("secrets") != std::string_view::npos ? "token" : "workbench");
        put("{run}", run);
        put("{command}", command);
        put("{id}", "k1");
        put("{image}", "full");
        put("{path}", "file.txt");
        return text;
    }

    Harness host;
    json::object document, schemas;
    std::string run = host.add_run();
    std::string command = host.add_command(run);
};

void collect_references(const json::value& value, std::set<std::string>& found) {
    if (value.is_array()) {
        for (const auto& item : value.as_array()) collect_references(item, found);
    }
    if (!value.is_object()) return;
    for (const auto& entry : value.as_object()) {
        if (entry.key() == "$ref") found.emplace(entry.value().as_string());
        collect_references(entry.value(), found);
    }
}

TEST_F(OpenApi, EveryReferenceResolvesAndEverySchemaIsUsed) {
    std::set<std::string> used;
    collect_references(document, used);
    for (const auto& reference : used) {
        EXPECT_TRUE(schemas.contains(reference.substr(std::string("#/components/schemas/").size())))
            << reference;
    }
    for (const auto& entry : schemas) {
        if (entry.key() == "Event") continue;  // of the event stream, which is no JSON document
        EXPECT_TRUE(used.count("#/components/schemas/" + std::string(entry.key()))) << entry.key();
    }
}

TEST_F(OpenApi, EveryRouteIsThereWithItsPathParameters) {
    std::size_t operations = 0;
    for (const auto& path : document.at("paths").as_object())
        operations += path.value().as_object().size();
    EXPECT_EQ(operations, all_routes().size());
    for (const auto& route : all_routes()) {
        std::set<std::string> named;
        if (const auto* parameters = operation(route).if_contains("parameters")) {
            for (const auto& parameter : parameters->as_array()) {
                if (parameter.as_object().at("in") == "path")
                    named.emplace(parameter.as_object().at("name").as_string());
            }
        }
        const std::string path(route.path);
        EXPECT_EQ(static_cast<std::size_t>(std::count(path.begin(), path.end(), '{')), named.size())
            << path;
        for (const auto& name : named)
            EXPECT_NE(path.find("{" + name + "}"), std::string::npos) << path;
        for (const auto code : route.problems) EXPECT_NE(find_problem(code), nullptr) << code;
    }
}

TEST_F(OpenApi, EveryRouteAnswersAsDocumented) {
    host.on_loop([&] {
        host.service().vfs_folders["data"] = "no-such-folder";
        host.service().secret_values["token"] = "x";
        host.service().follower->finish();
        host.service().end_command(0);
    });
    const std::map<std::string_view, std::string> bodies = {
        {"createKey", R"({"label": "ci", "namespaces": []})"},
        {"createNamespace", R"({"name": "mine"})"},
        {"createVfs", R"({"name": "mine"})"},
        {"deploy", R"({"files": []})"},
        {"putDefaultImage", R"({"image": "full"})"},
        {"changeFile", R"({"operation": "makeFolder"})"},
        {"sendCommand", R"({"command": "true"})"},
        {"resizeTerminal", R"({"rows": 1, "columns": 1})"},
    };
    for (const auto& route : all_routes()) {
        if (route.operation == "followEvents") continue;  // has no end
        const auto body = bodies.find(route.operation);
        if (route.body.kind == Body::Kind::json && route.body.required) {
            ASSERT_NE(body, bodies.end()) << route.operation;
        }
        const auto reply = host.request(to_string(route.method), concrete(route.path),
                                        body == bodies.end() ? "" : body->second);
        EXPECT_NE(reply.status, 0) << route.operation;
        expect_documented(route, reply);
    }
}

TEST_F(OpenApi, EveryDocumentedProblemOfTheServiceArrivesAsSuch) {
    for (const auto& route : all_routes()) {
        // Answered without asking the service, or only after the answer has begun.
        if (route.key == Route::Key::open || route.operation == "getOpenApi" ||
            route.operation == "followEvents")
            continue;
        for (const auto code : route.problems) {
            // Made by the server itself: tested where it makes them.
            if (code == "invalid-name" || code == "too-large" || code == "too-many-waiting" ||
                code == "upgrade-required" || code == "range-not-satisfiable" ||
                code == "definition-invalid") {
                continue;
            }
            host.on_loop([&] {
                host.service().refuse =
                    Failure::with_code(Kind::conflict, std::string(code), "because");
            });
            std::string body;
            if (route.operation == "createKey") body = R"({"label": "x", "namespaces": []})";
            if (route.body.schema == "NameRequest") body = R"({"name": "mine"})";
            if (route.operation == "putDefaultImage") body = R"({"image": "full"})";
            if (route.operation == "deploy") body = R"({"files": []})";
            if (route.operation == "sendCommand") body = R"({"command": "true"})";
            if (route.operation == "resizeTerminal") body = R"({"rows": 1, "columns": 1})";
            const auto reply = host.request(to_string(route.method), concrete(route.path), body);
            EXPECT_EQ(reply.code(), code) << route.operation;
            expect_documented(route, reply);
        }
    }
}

TEST_F(OpenApi, OnlyHealthIsOpen) {
    for (const auto& route : all_routes()) {
        EXPECT_EQ(route.key == Route::Key::open, route.path == "/health") << route.path;
    }
}

}  // namespace
}  // namespace host::api::testing
