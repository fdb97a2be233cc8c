#include "host/definition/parser.hpp"

#include "tests/host/definition/support.hpp"

#include <gmock/gmock.h>

namespace host::definition::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char workbench[] = R"(// A capsule that stays up.
maxDuration = "00:10:00"

vfs = [
  {
    vfs = @ref("sales-data")
    mountName = "data"
  }
]

users = [
  {
    name = "sandbox"
  }
]

startup = [
  {
    command = "bash"
    arguments = ["-c", "rm -rf /tmp/data && cp -r /mnt/data /tmp/data && chmod -R a+rwX /tmp/data"]
    wait = true
    maxDuration = "00:01:00"
  }
]
)";

TEST(Parser, ReadsTheWorkbench) {
    const auto definition = accepted(workbench);
    EXPECT_EQ(definition.max_duration_ms, 600'000u);
    ASSERT_THAT(definition.vfs, SizeIs(1));
    EXPECT_EQ(definition.vfs[0].vfs.space, "team");
    EXPECT_EQ(definition.vfs[0].vfs.name, "sales-data");
    EXPECT_EQ(definition.vfs[0].mount_name, "data");
    EXPECT_FALSE(definition.vfs[0].read_only);
    EXPECT_THAT(definition.users, ElementsAre("sandbox"));
    ASSERT_THAT(definition.startup, SizeIs(1));
    EXPECT_EQ(definition.startup[0].command, "bash");
    EXPECT_THAT(definition.startup[0].arguments, SizeIs(2));
    EXPECT_TRUE(definition.startup[0].wait);
    EXPECT_EQ(definition.startup[0].max_duration_ms, 60'000u);
    EXPECT_EQ(definition.startup[0].run_as_user, "");
}

TEST(Parser, AppliesDefaults) {
    const auto definition = accepted("startup = [ { command = \"true\" } ]");
    EXPECT_EQ(definition.max_duration_ms, 600'000u);
    EXPECT_FALSE(definition.auto_terminate);
    EXPECT_EQ(definition.network.mode, "packages");
    EXPECT_TRUE(definition.startup[0].wait);
    EXPECT_FALSE(definition.startup[0].max_duration_ms);
    EXPECT_FALSE(definition.resources.cpus);
}

TEST(Parser, ReadsEveryProperty) {
    const auto definition = accepted(R"(
packages = ["jq", "g++", "jq"]
users = [ { name = "builder" }, { name = "sandbox" } ]
vfs = [ { vfs = @ref("other.x"), mountName = "y", readOnly = true } ]
secrets = [ { secret = @ref("token"), mountName = "api-token" } ]
startup = [ { command = "make", arguments = ["a b", ""], runAsUser = "builder", maxDuration = "00:00:03", wait = false } ]
autoTerminate = true
maxDuration = "24:00:00"
network = ["Example.org", "*.example.net"]
image = "slim"
resources = { cpus = 2, memory = "1G", disk = "4G" }
environment = { LANG = "C.UTF-8", EMPTY = "" }
workingDirectory = "/mnt/y"
)");
    EXPECT_THAT(definition.packages, ElementsAre("jq", "g++"));
    EXPECT_THAT(definition.users, ElementsAre("builder", "sandbox"));
    EXPECT_EQ(definition.vfs.at(0).vfs.space, "other");
    EXPECT_TRUE(definition.vfs.at(0).read_only);
    EXPECT_EQ(definition.secrets.at(0).secret.name, "token");
    EXPECT_EQ(definition.secrets.at(0).mount_name, "api-token");
    EXPECT_THAT(definition.startup.at(0).arguments, ElementsAre("a b", ""));
    EXPECT_EQ(definition.startup.at(0).run_as_user, "builder");
    EXPECT_FALSE(definition.startup.at(0).wait);
    EXPECT_TRUE(definition.auto_terminate);
    EXPECT_EQ(definition.max_duration_ms, 86'400'000u);
    EXPECT_EQ(definition.network.mode, "hosts");
    EXPECT_THAT(definition.network.hosts, ElementsAre("example.org", "*.example.net"));
    EXPECT_EQ(definition.image, "slim");
    EXPECT_EQ(definition.resources.cpus, 2u);
    EXPECT_EQ(definition.resources.memory_bytes, 1ull << 30);
    EXPECT_EQ(definition.resources.disk_bytes, 4ull << 30);
    EXPECT_EQ(definition.environment.at(1).name, "EMPTY");
    EXPECT_EQ(definition.working_directory, "/mnt/y");
}

TEST(Parser, NamesAMisspeltPropertyAndTheOneMeant) {
    const auto found = finding("\nmaxDuraton = \"00:05:00\"");
    EXPECT_EQ(place(found), "2:1 maxDuraton");
    EXPECT_THAT(found.message, HasSubstr("maxDuration"));
    EXPECT_EQ(place(finding("startup = [ { command = \"true\", runAsUsr = \"root\" } ]")),
              "1:33 runAsUsr");
}

TEST(Parser, RefusesOddDurationsNamingTheProperty) {
    for (const char* text :
         {"\"00:00:00\"", "\"-00:05:00\"", "\"00:60:00\"", "\"5m\"", "300", "\"\"", "\"00:05:00 \"",
          "\"24:00:01\"", "\"999999:00:00\"", "true", "\"00:05\""}) {
        const auto found = finding("maxDuration = " + std::string(text));
        EXPECT_EQ(place(found), "1:15 maxDuration") << text;
        EXPECT_THAT(found.message, HasSubstr("maxDuration")) << text;
    }
    EXPECT_EQ(accepted("maxDuration = \"24:00:00\"").max_duration_ms, 86'400'000u);
}

TEST(Parser, RefusesMountNamesThatAreNotNames) {
    for (const char* name :
         {"../etc", "a/b", "..", ".", "", "/abs", "x\\u0000y", "A", "secrets", "a b"}) {
        const auto found =
            finding("vfs = [ { vfs = @ref(\"x\"), mountName = \"" + std::string(name) + "\" } ]");
        EXPECT_EQ(found.name, "mountName") << name;
        EXPECT_THAT(found.message, HasSubstr("mountName '")) << name;
    }
    EXPECT_THAT(finding("vfs = [ { vfs = @ref(\"x\"), mountName = \"../etc\" } ]").message,
                HasSubstr("'../etc'"));
    EXPECT_THAT(finding("vfs = [ { vfs = @ref(\"x\"), mountName = \"x\\u0000y\" } ]").message,
                HasSubstr("x\\x00y"));
}

TEST(Parser, RefusesAMountNameUsedTwice) {
    const auto found = finding(
        "vfs = [\n { vfs = @ref(\"x\"), mountName = \"data\" }\n { vfs = @ref(\"z\"), mountName = "
        "\"data\" }\n]");
    EXPECT_EQ(found.line, 3u);
    EXPECT_THAT(found.message, HasSubstr("mountName 'data'"));
    // A VFS and a secret do not meet.
    accepted(
        "vfs = [ { vfs = @ref(\"x\"), mountName = \"a\" } ]\nsecrets = [ { secret = @ref(\"x\"), "
        "mountName = \"a\" } ]");
}

TEST(Parser, RefusesReservedAndOddUsers) {
    for (const char* name : {"root", "maitento", "../etc", "operator", "daemon", ""}) {
        const auto found = finding("users = [ { name = \"" + std::string(name) + "\" } ]");
        EXPECT_EQ(found.name, "users") << name;
    }
    EXPECT_THAT(finding("users = [ { name = \"ann\" }, { name = \"ann\" } ]").message,
                HasSubstr("twice"));
}

TEST(Parser, ChecksWhoStartupCommandsRunAs) {
    EXPECT_THAT(finding("startup = [ { command = \"true\", runAsUser = \"buidler\" } ]\nusers = [ "
                        "{ name = \"builder\" } ]")
                    .message,
                HasSubstr("buidler"));
    for (const char* name : {"root", "maitento", "nobody", "www-data"}) {
        accepted("startup = [ { command = \"true\", runAsUser = \"" + std::string(name) + "\" } ]");
    }
    accepted(
        "packages = [\"postgresql\"]\nstartup = [ { command = \"true\", runAsUser = \"postgres\" } "
        "]");
}

TEST(Parser, RefusesNulAndEmptyCommands) {
    EXPECT_EQ(finding("startup = [ { command = \"\" } ]").name, "command");
    EXPECT_EQ(finding("startup = [ { command = \" \\n\" } ]").name, "command");
    EXPECT_EQ(finding("startup = [ { command = \"a\\u0000b\" } ]").name, "command");
    EXPECT_EQ(finding("startup = [ { command = \"echo\", arguments = [\"a\\u0000b\"] } ]").name,
              "arguments");
    EXPECT_EQ(finding("startup = [ { arguments = [\"a\"] } ]").name, "command");
    EXPECT_EQ(finding("startup = [ { command = \"sleep 1 &\", arguments = [\"a\"] } ]").name,
              "command");
    accepted("startup = [ { command = \"sleep 1 &\" } ]");
}

TEST(Parser, AcceptsAnArgumentThatExecWillRefuse) {
    accepted("startup = [ { command = \"true\", arguments = [\"" + std::string(200'000, 'A') +
             "\"] } ]");
}

TEST(Parser, RefusesWrongTypes) {
    for (const char* text :
         {"packages = \"jq\"", "packages = [1]", "users = [\"ann\"]", "vfs = { }",
          "vfs = [ { vfs = \"x\", mountName = \"y\" } ]", "autoTerminate = \"true\"",
          "resources = [ ]", "resources = { memory = 512 }", "resources = { cpus = \"2\" }",
          "environment = [ ]", "environment = { A = 1 }", "image = @ref(\"x\")", "network = true",
          "workingDirectory = 1", "secrets = 1", "startup = \"true\"",
          "startup = [ { command = [\"a\"] } ]"}) {
        const auto found = finding(text);
        EXPECT_THAT(found.message, HasSubstr("must be")) << text;
    }
}

TEST(Parser, RefusesReferencesThatNameNothing) {
    for (const char* target : {"", "A", "a.b.c", ".x", "x.", "../x", "a/b", "a b"}) {
        EXPECT_EQ(
            finding("vfs = [ { vfs = @ref(\"" + std::string(target) + "\"), mountName = \"y\" } ]")
                .name,
            "vfs")
            << target;
    }
}

TEST(Parser, ChecksNetworkForms) {
    EXPECT_EQ(accepted("network = \"none\"").network.mode, "none");
    EXPECT_EQ(accepted("network = \"internet\"").network.mode, "internet");
    for (const char* text : {"\"all\"", "\"hosts\"", "[ ]", "[\"*\"]", "[\"http://x.org\"]",
                             "[\"192.0.2.1\"]", "[1]"}) {
        EXPECT_EQ(finding("network = " + std::string(text)).name, "network") << text;
    }
}

TEST(Parser, ChecksResourceRanges) {
    for (const char* text :
         {"cpus = 0", "cpus = 65", "cpus = -1", "memory = \"1M\"", "memory = \"2000000G\"",
          "disk = \"1M\"", "memory = \"512\"", "memory = \"0.5G\""}) {
        refused("resources = { " + std::string(text) + " }");
    }
}

TEST(Parser, EnvironmentLimits) {
    EXPECT_EQ(finding("environment = { A-B = \"x\" }").name, "environment");
    EXPECT_EQ(finding("environment = { A = \"x\\u0000\" }").name, "environment");
    EXPECT_THAT(finding("environment = { A = \"" + std::string(131'070, 'x') + "\" }").message,
                HasSubstr("131071"));
    accepted("environment = { A = \"" + std::string(131'069, 'x') + "\" }");
}

TEST(Parser, LimitsCounts) {
    std::string users = "users = [\n";
    for (int i = 0; i < 65; ++i) users += "{ name = \"u" + std::to_string(i) + "\" }\n";
    EXPECT_THAT(finding(users + "]").message, HasSubstr("at most 64"));
}

TEST(Parser, FindsReferencesWithTheirPlaces) {
    const auto found = references(
        "secrets = [ { secret = @ref(\"token\"), mountName = \"t\" } ]\n"
        "vfs = [\n  {\n    vfs = @ref(\"other.x\")\n    mountName = \"y\"\n  }\n]",
        "team");
    ASSERT_THAT(found, SizeIs(2));
    EXPECT_EQ(found[0].kind, "secret");
    EXPECT_EQ(found[0].target.space, "team");
    EXPECT_EQ(found[0].target.name, "token");
    EXPECT_EQ(found[0].line, 1u);
    EXPECT_EQ(found[0].column, 24u);
    EXPECT_EQ(found[1].kind, "vfs");
    EXPECT_EQ(found[1].target.space, "other");
    EXPECT_EQ(found[1].line, 4u);
    EXPECT_EQ(found[1].column, 11u);
}

}  // namespace
}  // namespace host::definition::testing
