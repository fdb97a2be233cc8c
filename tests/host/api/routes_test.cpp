// Each route once, against the fake daemon: what it answers when all is well, and its own refusals.

#include "host/api/records_json.hpp"
#include "tests/host/api/harness.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

namespace host::api::testing {
namespace {

using ::testing::HasSubstr;

std::string text_of(const Reply& reply, std::string_view member) {
    return std::string(reply.json().as_object().at(member).as_string());
}

TEST(Routes, Daemon) {
    Harness host;
    EXPECT_EQ(text_of(host.request("GET", "/health"), "status"), "ok");
    EXPECT_EQ(text_of(host.request("GET", "/v1/host"), "accelerator"), "tcg");
    EXPECT_EQ(text_of(host.request("GET", "/openapi.json"), "openapi"), "3.1.0");
}

TEST(Routes, Keys) {
    Harness host;
    const auto made =
        host.request("POST", "/v1/keys", R"({"label": "ci", "namespaces": ["team"]})");
    EXPECT_EQ(made.status, 201);
    EXPECT_EQ(text_of(made, "key"), "cap_secret");
    const auto listed = host.request("GET", "/v1/keys");
    EXPECT_THAT(listed.body, HasSubstr("\"label\":\"ci\""));
    EXPECT_EQ(listed.body.find("cap_secret"), std::string::npos);
    EXPECT_EQ(listed.body.find("never shown"), std::string::npos);
    EXPECT_EQ(host.request("DELETE", "/v1/keys/k1").status, 204);
    EXPECT_EQ(host.request("DELETE", "/v1/keys/k2").code(), "not-found");
    // Without namespaces a key would be for all of them: that must be said.
    EXPECT_EQ(host.request("POST", "/v1/keys", R"({"label": "ci"})").code(), "invalid-request");
}

TEST(Routes, Namespaces) {
    Harness host;
    const auto listed = host.request("GET", "/v1/namespaces");
    EXPECT_EQ(listed.status, 200);
    EXPECT_EQ(listed.body, R"({"items":[{"name":"default","createdAt":"2026-01-31T09:30:00.000Z"},)"
                           R"({"name":"team","createdAt":"2026-01-31T09:30:00.000Z"}]})");
    EXPECT_EQ(host.request("POST", "/v1/namespaces", R"({"name": "mine"})").status, 201);
    EXPECT_EQ(host.request("POST", "/v1/namespaces", R"({"name": "default"})").code(),
              "already-exists");
    EXPECT_EQ(host.request("DELETE", "/v1/namespaces/team").status, 204);
    EXPECT_EQ(host.request("DELETE", "/v1/namespaces/default").code(), "not-empty");
    EXPECT_EQ(host.request("DELETE", "/v1/namespaces/Team").code(), "invalid-name");
}

TEST(Routes, Vfs) {
    Harness host;
    host.on_loop([&] { host.service().vfs_folders["data"] = "f1"; });
    EXPECT_THAT(host.request("GET", "/v1/namespaces/team/vfs").body,
                HasSubstr(R"({"name":"data","namespace":"team")"));
    EXPECT_EQ(text_of(host.request("GET", "/v1/namespaces/team/vfs/data"), "namespace"), "team");
    EXPECT_EQ(host.request("GET", "/v1/namespaces/team/vfs/none").code(), "not-found");
    EXPECT_EQ(host.request("POST", "/v1/namespaces/team/vfs", R"({"name": "x"})").status, 201);
    EXPECT_EQ(host.request("POST", "/v1/namespaces/team/vfs", R"({"name": "X"})").code(),
              "invalid-name");
    EXPECT_EQ(host.request("DELETE", "/v1/namespaces/team/vfs/data").status, 204);
    EXPECT_EQ(host.request("DELETE", "/v1/namespaces/team/vfs/mounted").code(), "in-use");
}

TEST(Routes, Secrets) {
    Harness host;
    const std::string value("line\n\n\0\xFF", 8);
    EXPECT_EQ(host.request("PUT", "/v1/namespaces/team/secrets/token", value).status, 204);
    EXPECT_EQ(host.on_loop([&] { return host.service().secret_values["token"]; }), value);
    const auto listed = host.request("GET", "/v1/namespaces/team/secrets");
    EXPECT_THAT(listed.body, HasSubstr("\"name\":\"token\""));
    EXPECT_EQ(listed.body.find("line"), std::string::npos);
    EXPECT_EQ(host.request("GET", "/v1/namespaces/team/secrets/token").status, 405);
    EXPECT_EQ(
        host.request("PUT", "/v1/namespaces/team/secrets/token", std::string(65'537, 'x')).code(),
        "too-large");
    EXPECT_EQ(
        host.request("PUT", "/v1/namespaces/team/secrets/token", std::string(65'536, 'x')).status,
        204);
    EXPECT_EQ(host.request("DELETE", "/v1/namespaces/team/secrets/token").status, 204);
    EXPECT_EQ(host.request("DELETE", "/v1/namespaces/team/secrets/token").code(), "not-found");
}

TEST(Routes, Images) {
    Harness host;
    const auto listed = host.request("GET", "/v1/images");
    EXPECT_EQ(listed.status, 200);
    EXPECT_THAT(listed.body, HasSubstr(R"("version":"full-00000000000a","current":true)"));
    EXPECT_THAT(listed.body, HasSubstr(R"("problem":"its manifest cannot be read"})"));
    EXPECT_EQ(listed.body.find("packages"), std::string::npos);
    const auto shown = host.request("GET", "/v1/images/full");
    EXPECT_THAT(
        shown.body,
        HasSubstr(
            R"("missing":[{"name":"dotnet","what":".NET 8 SDK","reason":"no source is set for it"}])"));
    EXPECT_THAT(shown.body,
                HasSubstr(R"("packages":[{"name":"git","version":"1:2.39.5-0+deb12u2"}])"));
    EXPECT_EQ(host.request("GET", "/v1/images/none").code(), "not-found");
    EXPECT_EQ(host.request("GET", "/v1/images/Full").code(), "invalid-name");
    EXPECT_EQ(host.request("DELETE", "/v1/images/full").code(), "in-use");
}

TEST(Routes, DefaultImageOfANamespace) {
    Harness host;
    const auto set =
        host.request("PUT", "/v1/namespaces/team/image", R"({"image": "full-00000000000a"})");
    EXPECT_EQ(set.status, 200);
    EXPECT_EQ(text_of(set, "image"), "full-00000000000a");
    EXPECT_EQ(host.request("PUT", "/v1/namespaces/team/image", R"({"image": "../etc"})").code(),
              "invalid-name");
    EXPECT_EQ(host.request("PUT", "/v1/namespaces/team/image", R"({"name": "full"})").code(),
              "invalid-request");
    const auto reset = host.request("DELETE", "/v1/namespaces/team/image");
    EXPECT_EQ(reset.status, 200);
    EXPECT_EQ(reset.body.find("image"), std::string::npos);
}

TEST(Routes, Deploy) {
    Harness host;
    host.on_loop([&] {
        host.service().deploy_outcome.report.created = {"sales-report"};
        host.service().deploy_outcome.report.skipped = {"apps/x.mtc: apps are not supported yet"};
    });
    const auto reply =
        host.request("POST", "/v1/namespaces/team/deploy",
                     R"({"files": [{"path": "capsules/a.mtr", "content": "packages = []\n"}]})");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(
        reply.body,
        R"({"created":["sales-report"],"updated":[],"unchanged":[],"skipped":["apps/x.mtc: apps are not supported yet"]})");
    EXPECT_EQ(host.on_loop([&] { return host.service().deployed.at(0).content; }),
              "packages = []\n");

    host.on_loop([&] {
        sandbox::Diagnostic finding;
        finding.file = "capsules/a.mtr";
        finding.line = 3;
        finding.column = 7;
        finding.name = "maxDuraton";
        finding.message = "unknown property 'maxDuraton'";
        host.service().deploy_outcome.diagnostics = {finding, finding};
    });
    const auto refused = host.request("POST", "/v1/namespaces/team/deploy", R"({"files": []})");
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(refused.code(), "definition-invalid");
    EXPECT_EQ(text_of(refused, "detail"), "capsules/a.mtr:3:7: unknown property 'maxDuraton'");
    const auto body = refused.json();
    const auto& errors = body.as_object().at("errors").as_array();
    ASSERT_EQ(errors.size(), 2u);
    EXPECT_EQ(
        boost::json::serialize(errors[0]),
        R"({"file":"capsules/a.mtr","line":3,"column":7,"name":"maxDuraton","message":"unknown property 'maxDuraton'"})");
}

TEST(Routes, Capsules) {
    Harness host;
    const auto listed = host.request("GET", "/v1/namespaces/team/capsules");
    EXPECT_EQ(listed.body.find("source"), std::string::npos);
    const auto shown = host.request("GET", "/v1/namespaces/team/capsules/workbench");
    EXPECT_EQ(text_of(shown, "source"), "maxDuration = \"00:10:00\"\n");
    EXPECT_THAT(shown.body, HasSubstr(R"("maxDuration":"00:10:00")"));
    EXPECT_EQ(host.request("GET", "/v1/namespaces/team/capsules/none").code(), "not-found");
    EXPECT_EQ(host.request("DELETE", "/v1/namespaces/team/capsules/workbench").status, 204);
}

TEST(Routes, Runs) {
    Harness host;
    constexpr char start[] = "/v1/namespaces/team/capsules/workbench/runs";
    const auto started = host.request("POST", start, "", "Idempotency-Key: k-1\r\n");
    EXPECT_EQ(started.status, 201);
    EXPECT_EQ(text_of(started, "status"), "Starting");
    EXPECT_EQ(text_of(started, "phase"), "booting");
    EXPECT_EQ(text_of(started, "maxDuration"), "00:10:00");
    EXPECT_EQ(host.on_loop([&] { return host.service().last_idempotency_key; }), "k-1");
    EXPECT_EQ(host.request("POST", start, "{}").status, 201);
    EXPECT_EQ(host.request("POST", start, R"({"x": 1})").code(), "unknown-member");
    EXPECT_EQ(host.request("POST", start, "", "Idempotency-Key: a b\r\n").code(),
              "invalid-request");
    EXPECT_EQ(host.request("POST", start, "", "Idempotency-Key: " + std::string(201, 'k') + "\r\n")
                  .code(),
              "invalid-request");

    const std::string run = "/v1/runs/" + text_of(started, "id");
    EXPECT_EQ(host.request("GET", run).status, 200);
    EXPECT_EQ(host.request("GET", run + "/console").body, "Linux version 6.12\n\xEF\xBF\xBD\n");
    EXPECT_EQ(host.request("GET", run + "/ping").body, R"({"roundTripUs":147})");
    const auto stopped = host.request("POST", run + "/terminate");
    EXPECT_EQ(text_of(stopped, "status"), "Terminated");
    EXPECT_EQ(text_of(host.request("POST", run + "/terminate", "{}"), "status"), "Terminated");
    EXPECT_EQ(host.request("GET", run + "/ping").status, 409);

    const auto page =
        host.request("GET", "/v1/runs?namespace=team&status=Running&live=true&limit=1&after=abc");
    EXPECT_EQ(text_of(page, "next"), "cursor-2");
    host.on_loop([&] {
        EXPECT_EQ(host.service().last_page.limit, 1u);
        EXPECT_EQ(host.service().last_page.after, "abc");
        EXPECT_EQ(host.service().last_filter.space, "team");
        EXPECT_EQ(host.service().last_filter.status, model::RunStatus::running);
        EXPECT_TRUE(host.service().last_filter.live_only);
    });
    for (const char* id :
         {"abc", "00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-00000000000G"}) {
        EXPECT_EQ(host.request("GET", "/v1/runs/" + std::string(id)).code(), "not-found") << id;
    }
}

TEST(Routes, Commands) {
    Harness host;
    const std::string commands = "/v1/runs/" + host.add_run() + "/commands";
    const auto sent =
        host.request("POST", commands, R"({"command": "ls", "arguments": ["-l", "a b"]})",
                     "Idempotency-Key: x\r\n");
    EXPECT_EQ(sent.status, 201);
    EXPECT_EQ(text_of(sent, "status"), "Queued");
    EXPECT_EQ(text_of(sent, "runAsUser"), "maitento");
    EXPECT_EQ(host.on_loop([&] { return host.service().last_idempotency_key; }), "x");
    EXPECT_EQ(host.request("POST", commands, R"({"command": "ls", "runAsUsr": "x"})").code(),
              "unknown-member");
    EXPECT_EQ(host.request("POST", commands, "").code(), "invalid-request");

    const std::string command = commands + "/" + text_of(sent, "id");
    host.on_loop([&] {
        auto& record = host.service().command_records.back();
        record.output.window =
            "a\xFF"
            "b";
        record.output.characters = 70'003;
        record.error.characters = 65'536;
        host.service().end_command(3);
    });
    const auto shown = host.request("GET", command).json().as_object();
    EXPECT_EQ(shown.at("outputStandard").as_string(),
              "a\xEF\xBF\xBD"
              "b");
    EXPECT_EQ(shown.at("outputStandardFullLength").as_int64(), 70'003);
    EXPECT_FALSE(shown.contains("outputErrorFullLength"));
    EXPECT_EQ(shown.at("exitCode").as_int64(), 3);
    EXPECT_EQ(shown.at("endReason").as_string(), "exited");
    EXPECT_EQ(host.request("GET", command + "?wait=60s").status, 200);
    const auto listed = host.request("GET", commands + "?limit=5");
    EXPECT_EQ(listed.body.find("outputStandard"), std::string::npos);

    EXPECT_EQ(host.request("POST", command + "/kill").status, 200);
    EXPECT_EQ(host.request("POST", command + "/kill", R"({"signal": 15})").status, 200);
    EXPECT_EQ(host.request("POST", command + "/kill", R"({"signal": 0})").code(),
              "invalid-request");
    EXPECT_EQ(host.request("POST", command + "/kill", R"({"signal": 65})").code(),
              "invalid-request");
    EXPECT_EQ(host.on_loop([&] { return host.service().signals; }), (std::vector<int>{9, 15}));
    EXPECT_EQ(host.request("POST", command + "/resize", R"({"rows": 5, "columns": 6})").status,
              204);
    EXPECT_EQ(host.request("POST", command + "/resize", R"({"rows": 0, "columns": 6})").code(),
              "invalid-request");
    EXPECT_EQ(host.on_loop([&] { return host.service().size->rows; }), 5);
}

TEST(Routes, StandardInput) {
    Harness host;
    const std::string run = host.add_run();
    const std::string command = "/v1/runs/" + run + "/commands/" + host.add_command(run);
    const std::string bytes(300'000, '\xFF');
    EXPECT_EQ(host.request("POST", command + "/input?from=7", bytes).status, 204);
    host.on_loop([&] {
        EXPECT_EQ(host.service().input_sink->taken, bytes);
        EXPECT_EQ(host.service().input_from, 7u);
        EXPECT_FALSE(host.service().input_sink->closed);
    });
    EXPECT_EQ(host.request("POST", command + "/input?close=true").status, 204);
    EXPECT_TRUE(host.on_loop([&] { return host.service().input_sink->closed; }));
}

TEST(Routes, AnInterruptedInputIsNotItsEnd) {
    Harness host;
    const std::string run = host.add_run();
    const std::string command = "/v1/runs/" + run + "/commands/" + host.add_command(run);
    auto client = host.connect();
    client.send("POST " + command + "/input?close=true HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
    EXPECT_TRUE(host.eventually([&] { return host.service().input_sink->taken == "abc"; }));
    client.close();
    EXPECT_TRUE(host.eventually([&] { return host.server().connections() == 0; }));
    EXPECT_FALSE(host.on_loop([&] { return host.service().input_sink->closed; }));
}

TEST(Routes, TextForStandardInputIsPartOfTheCommand) {
    Harness host;
    const std::string run = host.add_run();
    const auto sent = host.request("POST", "/v1/runs/" + run + "/commands",
                                   R"({"command": "cat", "stdin": {"text": "hello\n"}})");
    EXPECT_EQ(sent.status, 201);
    EXPECT_EQ(host.on_loop([&] { return host.service().last_command->input_text; }), "hello\n");
}

TEST(Records, TimesAreUtcWithMilliseconds) {
    EXPECT_EQ(json_time(0), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(json_time(1'769'851'800'123), "2026-01-31T09:30:00.123Z");
    EXPECT_EQ(json_time(-1), "1969-12-31T23:59:59.999Z");
}

TEST(Records, NamesThatAreNoTextComeAsBase64Too) {
    storage::VfsEntry entry;
    entry.name =
        "a\xFF"
        "b";
    entry.mode = 0644;
    EXPECT_EQ(boost::json::serialize(to_json(entry)),
              "{\"name\":\"a\xEF\xBF\xBD"
              "b\",\"nameBase64\":\"Yf9i\",\"type\":\"file\",\"size\":0,\"mode\":\"0644\","
              "\"modifiedAt\":\"1970-01-01T00:00:00.000Z\"}");
    for (const auto& [bytes, expected] :
         {std::pair{"\xFF", "/w=="}, std::pair{"\xFF\xFE", "//4="}}) {
        entry.name = bytes;
        EXPECT_EQ(to_json(entry).at("nameBase64").as_string(), expected);
    }
}

}  // namespace
}  // namespace host::api::testing
