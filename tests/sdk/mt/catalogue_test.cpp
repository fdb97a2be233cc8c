// mt namespace, vfs create, secret, key, version, and a daemon that does not answer.

#include "tests/sdk/fake_daemon.hpp"
#include "tests/sdk/mt/program.hpp"

#include <fstream>

#include <gtest/gtest.h>

namespace {

using fake::Exchange;
using fake::FakeDaemon;

program::Outcome ask(const FakeDaemon& daemon, const std::vector<std::string>& words,
                     const std::string& input = "") {
    return program::run(words, {{"MAITENTO_URL", daemon.url()}}, input);
}

TEST(Mt, ExplainsADaemonThatDoesNotAnswer) {
    const auto outcome =
        program::run({"runs", "list"}, {{"MAITENTO_URL", "unix:///nonexistent/api.sock"}});
    EXPECT_EQ(outcome.code, 4);
    EXPECT_NE(outcome.err.find("unix:///nonexistent/api.sock"), std::string::npos);
    EXPECT_NE(outcome.err.find("Start it with"), std::string::npos) << outcome.err;
}

TEST(Mt, SaysInsideACapsuleThatThisIsOne) {
    const program::Environment inside{{"MAITENTO_URL", "unix:///run/capsule/api.sock"}};
    const auto doctor = program::run({"doctor"}, inside);
    EXPECT_EQ(doctor.code, 1);
    EXPECT_NE(doctor.err.find("inside of a capsule"), std::string::npos);
    EXPECT_EQ(program::run({"runs", "list"}, inside).err.find("systemctl"), std::string::npos);
}

TEST(Mt, ListsNamesAlignedOrAsJson) {
    FakeDaemon daemon([](Exchange& exchange) {
        exchange.answer(200, R"({"items":[{"name":"default","createdAt":"2026-11-29T00:00:00Z"},
                                          {"name":"a","createdAt":"2026-11-29T00:00:01Z"}]})");
    });
    EXPECT_EQ(ask(daemon, {"namespace", "list"}).out,
              "NAME     CREATED\n"
              "default  2026-11-29T00:00:00Z\n"
              "a        2026-11-29T00:00:01Z\n");
    EXPECT_TRUE(ask(daemon, {"namespace-list", "--json"})
                    .out.starts_with("[\n  {\n    \"name\": \"default\""));
}

TEST(Mt, CreatesOnceOrIfMissing) {
    FakeDaemon daemon([](Exchange& exchange) {
        exchange.problem(409, "already-exists", "there is a file system data");
    });
    const auto plain = ask(daemon, {"vfs", "create", "data"});
    EXPECT_EQ(plain.code, 1);
    EXPECT_EQ(plain.err, "mt: there is a file system data\n");
    EXPECT_EQ(ask(daemon, {"vfs", "create", "data", "--if-missing"}).code, 0);
}

TEST(Mt, WorksInTheNamespaceThatIsAskedFor) {
    FakeDaemon daemon([](Exchange& exchange) { exchange.answer(200, R"({"items":[]})"); });
    program::run({"vfs", "list"}, {{"MAITENTO_URL", daemon.url()}, {"MAITENTO_NAMESPACE", "team"}});
    program::run({"vfs", "list", "-n", "other"},
                 {{"MAITENTO_URL", daemon.url()}, {"MAITENTO_NAMESPACE", "team"}});
    ask(daemon, {"vfs", "list"});
    EXPECT_EQ(daemon.requests(), (std::vector<std::string>{"GET /v1/namespaces/team/vfs",
                                                           "GET /v1/namespaces/other/vfs",
                                                           "GET /v1/namespaces/default/vfs"}));
}

TEST(Mt, NotFoundIsExitCode3) {
    FakeDaemon daemon([](Exchange& exchange) {
        exchange.problem(404, "not-found", "there is no capsule x\x1b[2J");
    });
    const auto outcome = ask(daemon, {"capsule", "show", "x"});
    EXPECT_EQ(outcome.code, 3);
    EXPECT_NE(outcome.err.find("there is no capsule x"), std::string::npos);
}

TEST(Secret, IsSentByteForByteAndNeverTakenFromTheCommandLine) {
    std::string stored;
    FakeDaemon daemon([&](Exchange& exchange) {
        stored = exchange.body;
        exchange.answer(204, "");
    });
    const std::string value("line\n\n\0\xFF", 8);
    EXPECT_EQ(ask(daemon, {"secret", "set", "token"}, value).code, 0);
    EXPECT_EQ(stored, value);

    std::ofstream(daemon.folder() + "/value") << " x ";
    EXPECT_EQ(ask(daemon, {"secret", "set", "token", "--file", daemon.folder() + "/value"}).code,
              0);
    EXPECT_EQ(stored, " x ");
    EXPECT_EQ(ask(daemon, {"secret", "set", "token", "value"}).code, 2);
    EXPECT_EQ(ask(daemon, {"secret", "set", "token"}, std::string(70'000, 'x')).code, 1);
}

TEST(Key, IsTheOnlyThingOnStandardOutput) {
    std::string asked;
    FakeDaemon daemon([&](Exchange& exchange) {
        asked = exchange.body;
        exchange.answer(201,
                        R"({"id":"k1","key":"secret-key","label":"ci","namespaces":["a","b"]})");
    });
    const auto outcome = ask(daemon, {"key", "create", "ci", "--for", "a", "--for", "b"});
    EXPECT_EQ(outcome.out, "secret-key\n");
    EXPECT_EQ(asked, R"({"label":"ci","namespaces":["a","b"]})");
}

TEST(Version, WorksWithoutADaemon) {
    const auto outcome =
        program::run({"version"}, {{"MAITENTO_URL", "unix:///nonexistent/api.sock"}});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_TRUE(outcome.out.starts_with("mt "));
}

}  // namespace
